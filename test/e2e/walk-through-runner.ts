import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ADMIN_TOKEN, MASTER_KEY } from '../helpers/app.js';
import { ROOT } from '../helpers/process.js';
import { temporaryDirectory } from '../helpers/temporary-directory.js';

/** Everything in the `sh` blocks of a page, in order; of one section where `heading` names it. */
export function shellBlocks(page: string, heading?: string): string {
  let text = readFileSync(join(ROOT, page), 'utf8');
  if (heading !== undefined) {
    const [, section = ''] = text.split(`${heading}\n`);
    text = section.split(/\n##+ /)[0] ?? '';
  }
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block).join('');
}

/**
 * The script ends at the first command that fails. Each call of curl must succeed, and leaves its
 * method and status on standard error. `pipefail` stays off: `grep -q` and `head` end what feeds them.
 * `set -m` makes each background job a process group, which ends with the script.
 */
const PRELUDE = `set -eum
trap 'for job in $(jobs -p); do kill -TERM -- -$job || true; done; wait' EXIT
second_terminal() {
  log=$(mktemp)
  "$@" > "$log" 2>&1 &
  until grep -qE '^enrolled ([0-9]+)/\\1,' "$log"; do kill -0 $!; sleep 0.2; done
  rm "$log"
}
curl() { command curl --fail-with-body --write-out '%{stderr}%{method} %{http_code}\\n' "$@"; }
`;

export interface WalkThroughResult {
  stdout: string;
  /** `GET 200` and so on, in order. */
  calls: string[];
  /** Files that the commands left in the reader's working directory. */
  left: string[];
}

export interface WalkThroughServer {
  url: string;
  connectionString: string;
  /** `npm run` as it is typed; else the command behind it, which saves npm's own start each time. */
  npm?: boolean;
}

const WITH_NPM = `npm() { command npm --silent --prefix '${ROOT}' "$@"; }\n`;
const WITHOUT_NPM = `npm() {
  local name=$2
  shift $(($# < 3 ? $# : 3))
  [ "$name" = muster ] || set -- "$name" "$@"
  node '${join(ROOT, 'dist', 'src', 'cli', 'muster.js')}' "$@"
}
`;

/**
 * Types `script` as a reader would, in a directory with the token in `data/admin-token` and, for the lab of
 * the quickstart, in `data/lab-tour/admin-token`.
 */
export async function runWalkThrough(
  script: string,
  { url, connectionString, npm = false }: WalkThroughServer,
): Promise<WalkThroughResult> {
  const cwd = temporaryDirectory();
  for (const dataDir of ['data', 'data/lab-tour']) {
    mkdirSync(join(cwd, dataDir));
    writeFileSync(join(cwd, dataDir, 'admin-token'), ADMIN_TOKEN);
  }
  const env = {
    ...process.env,
    PUBLIC_URL: url,
    PORT: new URL(url).port,
    DATA_DIR: join(cwd, 'data'),
    DATABASE_URL: connectionString,
    ADMIN_TOKEN,
    MASTER_KEY: MASTER_KEY.toString('base64'),
  };
  const typed = script
    .replaceAll('http://localhost:8080', url)
    .replace(/^ *(npm run simulate .*--forever.*)$/gm, 'second_terminal $1');
  const shell = promisify(execFile)(
    'bash',
    ['-c', PRELUDE + (npm ? WITH_NPM : WITHOUT_NPM) + typed],
    { cwd, env },
  );
  const { stdout, stderr } = await shell;
  const calls = stderr.split('\n').filter((line) => /^[A-Z]+ \d{3}$/.test(line));
  return { stdout, calls, left: readdirSync(cwd).filter((name) => name !== 'data') };
}
