import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FleetSeed } from './fleet.js';
import type { Measured } from './measure.js';

/** The measuring process, seen from the benchmark. */
export class WorkerProcess {
  private constructor(private readonly child: ChildProcess) {}

  static async start(options: Omit<Extract<ToWorker, { kind: 'start' }>, 'kind'>) {
    const child = fork(join(__dirname, 'worker.ts'), { execArgv: ['--import', 'tsx'] });
    const worker = new WorkerProcess(child);
    await worker.ask({ kind: 'start', ...options });
    return worker;
  }

  async prepare(task: Task): Promise<void> {
    await this.ask({ kind: 'prepare', task });
  }

  async run(): Promise<Measured> {
    const answer = await this.ask({ kind: 'run' });
    if (answer.kind !== 'measured') throw new Error('the measuring process lost its place');
    return answer.measured;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.send({ kind: 'stop' } satisfies ToWorker);
    await ended;
  }

  private ask(message: ToWorker): Promise<FromWorker> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('the measuring process ended'));
      this.child.once('exit', onExit);
      this.child.once('message', (answer) => {
        this.child.off('exit', onExit);
        resolve(answer as FromWorker);
      });
      this.child.send(message);
    });
  }
}

/** The work of a measuring process. */
export type Task =
  | { kind: 'enroll'; from: number; to: number }
  | { kind: 'idle'; to: number; seconds: number }
  | { kind: 'idle-rate'; to: number; seconds: number; rate: number }
  | { kind: 'loop'; to: number; phase: string; perDevice: number }
  | { kind: 'floor-signature'; seconds: number }
  | { kind: 'floor-idle'; to: number; seconds: number }
  | { kind: 'floor-loop'; to: number; phase: string; perDevice: number }
  | { kind: 'floor-enroll'; from: number; to: number };

export type ToWorker =
  | {
      kind: 'start';
      seed: FleetSeed;
      port: number;
      connections: number;
      databaseUrl: string;
    }
  | { kind: 'prepare'; task: Task }
  | { kind: 'run' }
  | { kind: 'stop' };

export type FromWorker = { kind: 'ready' } | { kind: 'measured'; measured: Measured };
