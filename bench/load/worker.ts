// A process of its own: sends what it has signed beforehand, so that only the server is measured.
import { BenchFleet } from './fleet.js';
import { createFloor, type Floor } from './floor.js';
import {
  type PreparedPhase,
  prepareEnrollments,
  prepareIdle,
  prepareIdleRate,
  prepareLoop,
} from './phases.js';
import type { FromWorker, Task, ToWorker } from './worker-process.js';

type Start = Extract<ToWorker, { kind: 'start' }>;

interface Worker {
  start: Start;
  fleet: BenchFleet;
  floor: Floor;
}

let worker: Worker | undefined;
let prepared: PreparedPhase | undefined;

function answer(message: FromWorker): void {
  process.send?.(message);
}

function prepare({ start, fleet, floor }: Worker, task: Task): PreparedPhase {
  switch (task.kind) {
    case 'enroll':
      return prepareEnrollments(start, fleet.devices(task.from, task.to));
    case 'idle':
      return prepareIdle(start, fleet.devices(0, task.to), task.seconds);
    case 'idle-rate':
      return prepareIdleRate(start, fleet.devices(0, task.to), task);
    case 'loop':
      return prepareLoop(start, fleet.devices(0, task.to), task);
    case 'floor-signature':
      return floor.signatures(fleet.devices(0, 64), task.seconds);
    case 'floor-idle':
      return floor.idle(fleet.devices(0, task.to), task.seconds);
    case 'floor-loop':
      return floor.loop(fleet.devices(0, task.to), task);
    case 'floor-enroll':
      return floor.enroll(fleet.devices(task.from, task.to));
  }
}

async function handle(message: ToWorker): Promise<void> {
  if (message.kind === 'start') {
    const floor = createFloor(message);
    worker = { start: message, fleet: new BenchFleet(message.seed), floor };
    answer({ kind: 'ready' });
    return;
  }
  if (worker === undefined) throw new Error('not started');
  if (message.kind === 'prepare') {
    prepared = prepare(worker, message.task);
    answer({ kind: 'ready' });
  } else if (message.kind === 'run') {
    if (prepared === undefined) throw new Error('nothing was prepared');
    answer({ kind: 'measured', measured: await prepared.run() });
  } else {
    await worker.floor.close();
    process.disconnect();
  }
}

process.on('message', (message: ToWorker) => {
  handle(message).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
});
