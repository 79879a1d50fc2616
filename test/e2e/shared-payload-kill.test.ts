import { createHash } from 'node:crypto';
import { installProfile, plainProfile } from '../helpers/plain-profile.js';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, processesOf, run, type Server, serve } from '../helpers/process.js';
import { AdminClient, readAdminToken } from './admin-client.js';
import { queryEmbedded } from './embedded-query.js';

const AT_ONCE = 24;
/** Each is stored by one of the requests, and shared by the others. */
const PROFILES = Array.from({ length: 12 }, (_, index) => plainProfile(`Board ${index}`));

let dataDir: string;
let port: number;
let server: Server;

async function startServer(): Promise<AdminClient> {
  server = await serve({ dataDir, env: { PORT: String(port) } });
  return new AdminClient(server.url, readAdminToken(dataDir));
}

interface StoredCommand {
  uuid: string;
  payload: Buffer | null;
  payload_sha256: Buffer;
  plist: Buffer;
}

beforeAll(async () => {
  dataDir = await preparedDataDir();
  port = await freePort();
});
afterAll(cleanUp);

describe('kill -9 of the server and PostgreSQL while shared payloads are queued', () => {
  it('every command that was accepted has the exact bytes of its payload', async () => {
    const api = await startServer();
    const simulation = run(['simulate', '--devices', '1', '--url', server.url]);
    expect(await simulation.ended).toBe(0);
    const [device] = (await api.call('/devices')).list;
    const accepted = new Map<string, Buffer>();
    const requests = Array.from({ length: AT_ONCE }, async (_, index) => {
      const profile = PROFILES[index % PROFILES.length] ?? Buffer.alloc(0);
      const parameters = { Payload: profile.toString('base64') };
      const { status, data } = await api.queue(Number(device?.id), 'InstallProfile', parameters);
      if (status === 201) accepted.set(String(data.attributes.uuid), installProfile(profile));
      if (accepted.size !== AT_ONCE / 4) return;
      server.kill('SIGKILL');
      for (const pid of processesOf(dataDir)) process.kill(pid, 'SIGKILL');
    });
    await Promise.allSettled(requests);
    expect(await server.ended).toBe('SIGKILL');

    await startServer();
    const commands = await queryEmbedded<StoredCommand>(
      dataDir,
      `select uuid::text, payload, payload_sha256, commands.plist from commands
       where request_type = 'InstallProfile'`,
    );
    const stored = new Map(commands.map(({ uuid, plist }) => [uuid, plist.toString()]));
    expect(accepted.size).toBeGreaterThanOrEqual(AT_ONCE / 4);
    for (const [uuid, body] of accepted) expect(stored.get(uuid)).toBe(body.toString());
    const bodies = PROFILES.map((profile) => installProfile(profile).toString());
    for (const { payload, payload_sha256: sha256, plist } of commands) {
      expect([payload, bodies.includes(plist.toString())]).toEqual([null, true]);
      expect(sha256).toEqual(createHash('sha256').update(plist).digest());
    }
    const shared = await queryEmbedded<{ body: Buffer }>(
      dataDir,
      // The inventory of the device shares its payloads, too.
      `select body from command_payloads where position('InstallProfile' in convert_from(body, 'UTF8')) > 0`,
    );
    expect(new Set(shared.map(({ body }) => body.toString()))).toEqual(new Set(stored.values()));
  }, 60_000);
});
