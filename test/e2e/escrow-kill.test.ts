import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, processesOf, run, type Server, serve } from '../helpers/process.js';
import { AdminClient, readAdminToken } from './admin-client.js';

const AT_ONCE = 24;

let dataDir: string;
let port: number;
let server: Server;

async function startServer(): Promise<AdminClient> {
  server = await serve({ dataDir, env: { PORT: String(port) } });
  return new AdminClient(server.url, readAdminToken(dataDir));
}

beforeAll(async () => {
  dataDir = await preparedDataDir();
  port = await freePort();
});
afterAll(cleanUp);

describe('kill -9 between the request for a PIN and its device', () => {
  it('every command that was accepted has its PIN, and none has a PIN without a command', async () => {
    let api = await startServer();
    const simulation = run([
      'simulate',
      '--devices',
      '1',
      '--platform',
      'macOS',
      '--url',
      server.url,
    ]);
    expect(await simulation.ended).toBe(0);
    const [device] = (await api.call('/devices')).list;
    const deviceId = Number(device?.id);

    const accepted: number[] = [];
    const requests = Array.from({ length: AT_ONCE }, async () => {
      const { status, data } = await api.queue(deviceId, 'DeviceLock');
      if (status === 201) accepted.push(Number(data.id));
      // All others are on their way: some of them in their transaction.
      if (accepted.length === AT_ONCE / 4) server.kill('SIGKILL');
    });
    await Promise.allSettled(requests);
    expect(await server.ended).toBe('SIGKILL');
    for (const pid of processesOf(dataDir)) process.kill(pid, 'SIGKILL');

    api = await startServer();
    const path = `/devices/${deviceId}/secrets?filter[kind]=device_lock_pin&include=command&page[size]=100`;
    const secrets = (await api.call(path)).list as Secret[];
    const commands = (await api.call('/commands?filter[request_type]=DeviceLock&page[size]=100'))
      .list;
    const withPin = secrets.map(({ relationships }) => relationships.command.data.id);
    expect(new Set(withPin)).toEqual(new Set(commands.map(({ id }) => id)));
    expect(accepted.length).toBeGreaterThanOrEqual(AT_ONCE / 4);
    expect(accepted.filter((id) => !withPin.includes(id))).toEqual([]);
    for (const { id } of secrets) {
      const reveal = `/devices/${deviceId}/secrets/${id}/reveal`;
      const { data } = await api.call(reveal, { reason: 'after a crash' });
      expect(data.attributes.value).toMatch(/^\d{6}$/);
    }
  }, 60_000);
});

interface Secret {
  id: number;
  type: string;
  attributes: Record<string, unknown>;
  relationships: { command: { data: { id: number } } };
}
