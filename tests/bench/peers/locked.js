// SPDX-License-Identifier: MIT
// As locked.py, by redlock and ioredis, which NODE_PATH leads to.
"use strict";
const { spawn } = require("child_process");
const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

const [socket, key, ttl, count, period, ...command] = process.argv.slice(2);
const client = new Redis(socket);
const redlock = new Redlock([client], { retryCount: 0 });
redlock.on("error", () => {});

async function once(due) {
  let lock;
  try {
    lock = await redlock.acquire([key], Number(ttl));
  } catch {
    return 75;
  }
  const words = command.map((word) => (word === "DUE" ? due : word));
  const status = await new Promise((resolve) => {
    spawn(words[0], words.slice(1), { stdio: "inherit" }).on("exit", resolve).on("error", () => resolve(1));
  });
  await lock.release();
  return status;
}

async function main() {
  if (count === "0") return once("DUE");
  for (let i = 0; i < Number(count); i++) {
    const at = (Math.floor(Date.now() / period) + 1) * period;
    while (Date.now() < at) await new Promise((resolve) => setTimeout(resolve, at - Date.now()));
    await once(String(at * 1000));
  }
  return 0;
}

main().then((status) => { client.disconnect(); process.exitCode = status; });
