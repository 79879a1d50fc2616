import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Measured } from './measure.js';
import type { FromWorker, Task, ToWorker } from './protocol.js';

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
