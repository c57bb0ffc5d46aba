/* SPDX-License-Identifier: MIT */
#include "supervisor/check_help.h"

void check_help_print(FILE *out)
{
    fputs("rotad [-c FILE] [--runtime-dir DIR]\n"
          "rotad [-c FILE] [--root DIR] [--device NAME] --check [--no-probe] [--online] |\n"
          "      --print-config\n"
          "Runs periodic jobs in turn with the other devices of a fleet.\n"
          "\n"
          "  -c, --config FILE   read FILE and the jobs.d folder beside it, instead of\n"
          "                      /etc/rota/rotad.conf and its three jobs.d folders\n"
          "  --runtime-dir DIR   folder of this one rotad's lock (default /run/rota;\n"
          "                      $RUNTIME_DIRECTORY goes before it)\n"
          "  --check             read the configuration, probe the plugins, say what is\n"
          "                      wrong and when each job is due; exit 78 on a mistake\n"
          "  --online            then try each Redis, and write nothing there; exit 69\n"
          "                      where none can be used, 77 where it refuses the user\n"
          "  --no-probe          load no plugin: check parameters by the descriptions\n"
          "                      that rota-guard --describe has written\n"
          "  --root DIR          look at the tree of another device, as a build host has\n"
          "                      it, and at nothing of this one; as with --no-probe\n"
          "  --device NAME       match the jobs' devices with NAME, not with this device's\n"
          "                      name\n"
          "  --print-config      print the configuration with every default\n"
          "  --version           print the version\n"
          "  --help              print this\n",
          out);
}
