import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SRC = join(__dirname, '..', 'src');

/** Which folder of src may import which; errors, logger and config are for everyone. */
const MAY_IMPORT: Record<string, string[]> = {
  crypto: [],
  protocol: ['crypto'],
  jsonapi: [],
  db: ['jsonapi'],
  events: ['db', 'jsonapi'],
  http: ['jsonapi'],
  pki: ['crypto', 'protocol', 'db', 'events'],
  push: ['crypto', 'protocol', 'db', 'pki', 'jobs'],
  commands: ['crypto', 'protocol', 'db'],
  jobs: ['db', 'commands', 'pki'],
  metrics: ['db', 'pki'],
  profiles: ['crypto', 'protocol', 'db'],
  mdm: ['http', 'crypto', 'protocol', 'db', 'pki', 'commands'],
  enroll: ['http', 'crypto', 'protocol', 'db', 'pki', 'commands', 'events', 'jobs'],
  dep: ['http', 'crypto', 'protocol', 'db', 'pki', 'enroll', 'events', 'jobs'],
  setup: ['db', 'commands', 'profiles', 'jobs'],
  scep: ['http', 'crypto', 'protocol', 'db', 'pki'],
  revocation: ['http', 'crypto', 'pki'],
  resources: ['jsonapi'],
  api: [
    ...['http', 'jsonapi', 'resources', 'db', 'events'],
    ...['commands', 'pki', 'profiles', 'push', 'jobs'],
  ],
  lab: ['crypto', 'protocol'],
};

/** The packages with one home, and the files or folders that may import them. */
const HOMES: Record<string, RegExp> = {
  express: /^(http|jsonapi|api|mdm|enroll|dep|scep|revocation)\/|^(app|container)\.ts$/,
  knex: /^db\//,
  pg: /^db\//,
  commander: /^cli\//,
  pino: /^logger\.ts$/,
  helmet: /^http\//,
  'express-rate-limit': /^http\//,
  multer: /^http\//,
  compression: /^http\//,
  cors: /^http\//,
  'node-forge': /^crypto\//,
  'graphile-worker': /^(jobs|db)\//,
  'prom-client': /^metrics\//,
  'openid-client': /^enroll\//,
  'oauth-1.0a': /^dep\//,
};

/** They compose the others, so they may import anything. */
const COMPOSERS = new Set([
  ...['app.ts', 'background.ts', 'config-files.ts', 'container.ts', 'resource-services.ts'],
  ...[
    'lab-accounts.ts',
    'lab-authorities.ts',
    'lab-mode.ts',
    'lab-stand-ins.ts',
    'main.ts',
    'cli',
    'threads',
  ],
]);
const FOR_EVERYONE = new Set([
  'errors.ts',
  'logger.ts',
  'config.ts',
  'config-values.ts',
  'config-problems.ts',
]);

interface Import {
  file: string;
  target: string;
}

const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

const IMPORTS: Import[] = FILES.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/^(?:import|export)\s[^'"]*?from '([^']+)'/gm)].map(([, target]) => ({
    file,
    target: target ?? '',
  }));
});

/** The folder, or the file itself where it lies at the top. */
function roomOf(path: string): string {
  return path.split('/')[0] ?? '';
}

function pathOf({ file, target }: Import): string {
  return relative(SRC, join(SRC, dirname(file), target)).replace(/\.js$/, '.ts');
}

const INTERNAL = IMPORTS.filter(({ target }) => target.startsWith('.'));

describe('architecture', () => {
  it('knows every folder of src', () => {
    const rooms = new Set(FILES.map(roomOf));
    const known = [...Object.keys(MAY_IMPORT), ...COMPOSERS, ...FOR_EVERYONE];
    expect([...rooms].filter((room) => !known.includes(room))).toEqual([]);
  });

  it('lets each folder import only what the table allows', () => {
    const trespasses = INTERNAL.filter((entry) => {
      const from = roomOf(entry.file);
      const to = roomOf(pathOf(entry));
      if (COMPOSERS.has(from) || from === to || FOR_EVERYONE.has(to)) return false;
      return !(MAY_IMPORT[from] ?? []).includes(to);
    });
    expect(trespasses.map((entry) => `${entry.file} -> ${pathOf(entry)}`)).toEqual([]);
  });

  it('keeps each package in its home', () => {
    const strays = IMPORTS.filter(({ file, target }) => HOMES[target]?.test(file) === false);
    expect(strays.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  it('has no cycle between folders', () => {
    const visited = new Set<string>();
    const walk = (room: string, path: string[]): string[] => {
      if (path.includes(room)) return [[...path.slice(path.indexOf(room)), room].join(' -> ')];
      if (visited.has(room)) return [];
      visited.add(room);
      return (MAY_IMPORT[room] ?? []).flatMap((next) => walk(next, [...path, room]));
    };
    expect(Object.keys(MAY_IMPORT).flatMap((room) => walk(room, []))).toEqual([]);
  });

  it('reads the environment in the configuration only', () => {
    const readers = FILES.filter((file) =>
      /process\.env/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(readers.filter((file) => !['config.ts', 'cli/muster.ts'].includes(file))).toEqual([]);
  });

  it('lets migrations import nothing of src', () => {
    const directory = join(SRC, '..', 'migrations');
    const offenders = readdirSync(directory).filter((name) =>
      /from '\.\.?\//.test(readFileSync(join(directory, name), 'utf8')),
    );
    expect(offenders).toEqual([]);
  });
});
