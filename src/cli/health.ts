import type { Command } from 'commander';
import { type Config, ConfigError } from '../config/config.js';
import { getAnswer, type HttpAnswer } from '../doctor/address/http-answer.js';
import { failedChecks, readReport } from '../doctor/address/ready-report.js';
import type { WriteLine } from './table.js';

export interface HealthIo {
  /** Throws ConfigError. */
  readConfig: () => Config;
  write: WriteLine;
  /** Sets the exit code: 0 the server is well, 1 it is not. Docker reserves all others. */
  finish: (code: number) => void;
}

export interface HealthOptions {
  /** Ask /healthz: whether the process answers, whatever its database does. */
  live?: boolean | undefined;
}

/** Less than the timeout of the Dockerfile's HEALTHCHECK, so that the reason is printed. */
const TIMEOUT_MS = 4_000;

interface Verdict {
  isHealthy: boolean;
  line: string;
}

/** Asks the server that this configuration starts whether it is ready, and prints one line. */
export async function health({ live = false }: HealthOptions, io: HealthIo): Promise<void> {
  const { isHealthy, line } = await judge(io.readConfig, live ? '/healthz' : '/readyz');
  io.write(line.replace(/[\p{Cc}\s]+/gu, ' '));
  io.finish(isHealthy ? 0 : 1);
}

async function judge(readConfig: HealthIo['readConfig'], path: string): Promise<Verdict> {
  try {
    const config = readConfig();
    if (config.port === 0) return unhealthy('PORT=0: the port is another at each start. Set PORT.');
    return await askServer(config, path);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return unhealthy(`the configuration is not usable: ${error.problems.join('; ')}`);
  }
}

function unhealthy(reason: string): Verdict {
  return { isHealthy: false, line: `not healthy: ${reason}` };
}

async function askServer(config: Config, path: string): Promise<Verdict> {
  const place = `${reachableHost(config)}:${config.port}${path}`;
  const { tls, storedTls } = config;
  if (tls !== undefined) return await ask(new URL(`https://${place}`));
  const verdict = await ask(new URL(`http://${place}`));
  // A stored certificate makes the server speak HTTPS, and only the database knows of it.
  if (!verdict.mayBeTls || !storedTls) return verdict;
  return await ask(new URL(`https://${place}`));
}

/** An address of this machine for those that mean all of them. */
function reachableHost({ host }: Config): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/**
 * The certificate is taken as it is: it is the server's own, for another name than this address, and what
 * is sent here is no secret. `muster doctor` judges it.
 */
async function ask(url: URL): Promise<Verdict & { mayBeTls: boolean }> {
  try {
    return { ...describe(url, await getAnswer(url, TIMEOUT_MS)), mayBeTls: false };
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException;
    const isRefused = code === 'ECONNREFUSED';
    const hint = isRefused ? '. Start the server, or give this command its settings' : '';
    const reason = `${url.href}: ${message || code}${hint}`;
    return { ...unhealthy(reason), mayBeTls: code === 'ECONNRESET' || code.startsWith('HPE_') };
  }
}

function describe({ href }: URL, answer: HttpAnswer): Verdict {
  const report = readReport(answer);
  if (report === undefined) {
    return unhealthy(`${href} is answered by something else than Muster: ${answer.status}`);
  }
  if (answer.status === 200) return { isHealthy: true, line: `healthy: ${href} answers 200` };
  return unhealthy(`${href} answers ${answer.status}: ${failedChecks(report)}`);
}

export function addHealthCommand(program: Command, io: HealthIo): void {
  program
    .command('health')
    .description('ask the server with these settings, on this machine, whether it is ready')
    .option('--live', 'ask only whether the process answers')
    .addHelpText('after', '\nExit code: 0 it is, 1 it is not or does not answer.')
    .action((options: HealthOptions) => health(options, io));
}
