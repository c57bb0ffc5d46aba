/* SPDX-License-Identifier: MIT
 * rotactl/watch.h: a screen that is drawn again and again in the same place (--watch). */
#ifndef ROTA_ROTACTL_WATCH_H
#define ROTA_ROTACTL_WATCH_H

/* Draws by screen_draw(). An exit status. */
typedef int watch_picture(void *context);

/* A picture at once, every 2 s, and when the terminal gets another size: until draw() returns an
 * exit status that is neither 0 nor STATUS_LOOK, which this returns then; until standard output
 * takes no more, as ferror() says; or until a signal ends the process, as Ctrl-C does. Standard
 * output must be a terminal: else EX_USAGE, with a line. */
int watch(watch_picture *draw, void *context);
#endif
