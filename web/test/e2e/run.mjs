// `npm run test:web`: a person's tasks in Debian's chromium, against the built server with its lab.
// Arguments name the files to run: `node web/test/e2e/run.mjs groups`. CHROMIUM names another browser.
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Lab } from '../support/lab.mjs';
import { Session } from '../support/session.mjs';

const LIMIT = 120_000;
/** Servers with a browser each: the tasks wait for pages half of the time. */
const SESSIONS = 2;
const DIRECTORY = fileURLToPath(new URL('.', import.meta.url));
/** It erases devices, which then answer nothing any more. */
const LAST = 'actions';
/** What takes longest, so that no session is left with it alone. */
const FIRST = ['commands', 'groups', 'devices', 'device'];

function rank(name) {
  if (name === LAST) return FIRST.length + 1;
  return FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
}

const FILES = readdirSync(DIRECTORY)
  .filter((name) => name.endsWith('.mjs') && name !== 'run.mjs')
  .map((name) => name.slice(0, -'.mjs'.length))
  .sort((one, other) => rank(one) - rank(other));

function chosenFiles() {
  const names = process.argv.slice(2).map((name) => name.replace(/^.*\/|\.mjs$/g, ''));
  const unknown = names.filter((name) => !FILES.includes(name));
  if (unknown.length > 0) throw new Error(`no tasks in ${unknown}; there are ${FILES.join(', ')}`);
  return names.length === 0 ? FILES : names;
}

/** Each file's tasks: `[{name, run}]`. */
async function readTasks(files) {
  const modules = await Promise.all(files.map((name) => import(`./${name}.mjs`)));
  return modules.map(({ TASKS }, index) =>
    Object.entries(TASKS).map(([name, run]) => ({ name: `${files[index]}: ${name}`, run })),
  );
}

/** Rejects when the task takes longer than any may. */
async function withinLimit(promise) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done in ${LIMIT / 1000} seconds`)), LIMIT);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function runTask(session, { name, run }) {
  const began = Date.now();
  const seconds = () => ((Date.now() - began) / 1000).toFixed(1);
  try {
    await withinLimit(run(session));
    await session.assertPageAccessible();
    session.assertQuiet();
    process.stdout.write(`ok ${name} (${seconds()})\n`);
    return true;
  } catch (error) {
    const picture = join(tmpdir(), `${name.replace(/\W+/g, '-')}.png`);
    await session.page.screenshot({ path: picture, timeout: 5_000 }).catch(() => undefined);
    const faults = session.takeFaults().map((fault) => `console: ${fault}\n`);
    process.stdout.write(`not ok ${name} (${seconds()})\n${error.stack}\n${faults.join('')}`);
    process.stdout.write(`as it was: ${picture}\n`);
    return false;
  }
}

/** A server and a browser, in which the files are done that nobody else has taken. */
async function runFiles(waiting) {
  const lab = await Lab.start();
  try {
    const session = await Session.open(lab);
    const passed = [];
    try {
      for (let tasks = waiting.shift(); tasks; tasks = waiting.shift()) {
        for (const task of tasks) passed.push(await runTask(session, task));
      }
    } finally {
      await session.close();
    }
    return passed;
  } finally {
    await lab.stop();
  }
}

// Each browser and each server listens for signals.
process.setMaxListeners(50);
const began = Date.now();
const files = await readTasks(chosenFiles());
const sessions = Math.min(SESSIONS, files.length);
const runs = await Promise.allSettled(Array.from({ length: sessions }, () => runFiles(files)));
for (const { reason } of runs) if (reason) process.stdout.write(`${reason.stack}\n`);
const results = runs.flatMap(({ value }) => value ?? []);
const failed = results.filter((isPassed) => !isPassed).length;
const seconds = Math.round((Date.now() - began) / 1000);
process.stdout.write(`${results.length - failed} passed, ${failed} failed, ${seconds} s\n`);
process.exitCode = failed === 0 && runs.every(({ status }) => status === 'fulfilled') ? 0 : 1;
