import { join } from 'node:path';
import { WorkerProcesses } from '../../src/cluster/worker-processes.js';
import { capturingLogger } from '../http/log-lines.js';

const FILE = join(__dirname, 'worker-fixture.js');

function workerProcesses(fixture: string): WorkerProcesses {
  const { logger } = capturingLogger();
  const ownMetrics = () => Promise.resolve([]);
  const settingsFor = () => fixture;
  return new WorkerProcesses({ count: 2, file: FILE, logger, settingsFor, ownMetrics });
}

it('resolves with the address when all serve, and stops them', async () => {
  const processes = workerProcesses('serves');
  expect(await processes.start()).toEqual({ address: '127.0.0.1', port: 1, family: 'IPv4' });
  await processes.stop();
});

it.each([
  ['fails', 'no room'],
  ['exits', 'exit code 3'],
])('rejects with the reason when a worker %s before it serves', async (fixture, reason) => {
  const processes = workerProcesses(fixture);
  await expect(processes.start()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(`^worker [12] could not start: ${reason}$`),
  });
  await processes.stop();
});
