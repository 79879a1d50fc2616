import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice } from '../helpers/device.js';
import { duringOutage } from '../helpers/outage.js';
import { ALL_MESSAGES } from '../mdm/conversation.js';

const WARN = 40;
const ERROR = 50;

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { ENROLLMENT: 'open' } });
});
afterAll(() => app.stop());
beforeEach(() => {
  app.logLines.length = 0;
});

/** Every path that is read by itself, and records that are not there. */
async function readPaths(): Promise<string[]> {
  const { body } = await adminApi(app).get('/openapi.json');
  const paths: Record<string, object> = body.paths;
  const readable = Object.keys(paths)
    .filter((path) => path.startsWith('/api/v1/'))
    .filter((path) => 'get' in (paths[path] ?? {}));
  return readable.map((path) =>
    path
      .replace('/api/v1', '')
      .replace('{request_type}', 'ProfileList')
      .replaceAll(/\{\w+\}/g, '1'),
  );
}

function levelsOf(msg: string): number[] {
  return app.logLines.filter((line) => line.msg === msg).map(({ level }) => level);
}

/** One line in five seconds, and those of the first: a busy machine takes longer. */
function mostLines(startedAt: number): number {
  return 3 + Math.ceil((performance.now() - startedAt) / 5_000);
}

describe('while the database is away', () => {
  it('every read answers 503 with Retry-After or needs no database, and logs one line or two', async () => {
    const paths = await readPaths();
    expect(paths.length).toBeGreaterThan(60);
    app.logLines.length = 0;
    const startedAt = performance.now();
    const answers = await duringOutage(app.database, async () => {
      const all: [status: number, code: string, retry: string | undefined][] = [];
      for (const path of paths) {
        const { status, body, headers } = await adminApi(app).get(path);
        if (status !== 200) all.push([status, body.errors[0].code, headers['retry-after']]);
      }
      return all;
    });
    expect(answers.length).toBeGreaterThan(60);
    expect(answers.filter(([status]) => status !== 503)).toEqual([]);
    expect(new Set(answers.map(String))).toEqual(new Set(['503,unavailable,1']));
    expect(new Set(levelsOf('admin request failed'))).toEqual(new Set([20, WARN]));
    expect(levelsOf('admin request failed').filter((level) => level === WARN).length).toBeLessThan(
      mostLines(startedAt),
    );
    expect(app.logLines.filter(({ level }) => level >= ERROR)).toEqual([]);
    expect(levelsOf('request').length).toBe(paths.length);
  });

  it('devices get 503 with a longer Retry-After, and one line or two are logged', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const startedAt = performance.now();
    const answers = await duringOutage(app.database, async () => {
      const all: [number, string | null][] = [];
      const messages = ALL_MESSAGES.map(
        ([, say]) =>
          () =>
            say(device),
      );
      for (const send of [...messages, () => fetch(`${app.url}/enroll/profile`), ...messages]) {
        const { status, headers } = await send();
        all.push([status, headers.get('retry-after')]);
      }
      return all;
    });
    expect(answers).toEqual(Array(2 * ALL_MESSAGES.length + 1).fill([503, '30']));
    const levels = levelsOf('device request failed');
    expect(levels).toHaveLength(answers.length);
    expect(levels.filter((level) => level === WARN).length).toBeLessThan(mostLines(startedAt));
    expect(levels.filter((level) => level >= ERROR)).toEqual([]);
    expect((await device.idle()).status).toBe(200);
  });
});
