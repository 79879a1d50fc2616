import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { Fleet, type FleetOptions } from '../lab/fleet.js';
import { isSettled } from '../lab/fleet-state.js';
import { describeProgress, describeSummary } from '../lab/summary.js';

/** What `muster simulate` takes on its command line. */
export interface SimulateOptions {
  devices: number;
  platform?: 'iOS' | 'macOS';
  enroll: 'profile';
  url: string;
  /** Path of an enrollment profile to use instead of fetching one for each device. */
  profile?: string;
  /** Path of a PEM file with CAs to trust for https. */
  ca?: string;
  /** Probability from 0 to 1. */
  notNow: number;
  forever?: boolean;
  /** Seconds. */
  pollInterval: number;
  concurrency: number;
  seed?: string;
}

export interface SimulateIo {
  out: { write(text: string): unknown; isTTY?: boolean };
  /** Ends the simulation; without one Ctrl-C and SIGTERM do. */
  signal?: AbortSignal;
}

const PLAIN_INTERVAL_MS = 5_000;
const TTY_INTERVAL_MS = 100;

async function toFleetOptions(
  options: SimulateOptions,
  signal: AbortSignal,
): Promise<FleetOptions> {
  const { profile, ca, pollInterval, forever = false, platform, seed } = options;
  const { devices, url, notNow, concurrency } = options;
  return {
    ...{ devices, url, notNow, concurrency, forever, signal },
    pollIntervalMs: pollInterval * 1000,
    ...(platform === undefined ? {} : { platform }),
    ...(seed === undefined ? {} : { seed }),
    ...(profile === undefined ? {} : { profile: await readFile(profile) }),
    ...(ca === undefined ? {} : { trustedCas: await readFile(ca, 'utf8') }),
  };
}

/** Shows how far the fleet is: one line rewritten on a terminal, a line now and then elsewhere. */
function startProgress(fleet: Fleet, out: SimulateIo['out']): () => void {
  const isTty = out.isTTY === true;
  let last = '';
  const show = () => {
    const line = describeProgress(fleet.state.snapshot());
    if (line === last) return;
    last = line;
    out.write(isTty ? `\r\u001b[2K${line}` : `${line}\n`);
  };
  const timer = setInterval(show, isTty ? TTY_INTERVAL_MS : PLAIN_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    if (isTty) out.write('\r\u001b[2K');
  };
}

/** Listens to the end: Ctrl-C comes twice under npm, which passes on what reaches us anyway. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  process.on('SIGINT', abort).on('SIGTERM', abort);
  return controller.signal;
}

/** Runs a fleet of simulated devices; resolves with the exit code. */
export async function simulate(options: SimulateOptions, io: SimulateIo): Promise<number> {
  const signal = io.signal ?? interruption();
  const fleet = new Fleet(await toFleetOptions(options, signal));
  const stopProgress = startProgress(fleet, io.out);
  try {
    await fleet.run();
  } finally {
    stopProgress();
  }
  const snapshot = fleet.state.snapshot();
  io.out.write(`${describeSummary(snapshot)}\n`);
  return isSettled(snapshot) ? 0 : 1;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('It must be a whole number from 1.');
  }
  return value;
}

function probability(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must be from 0 to 1.');
  return value;
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 86_400)) {
    throw new InvalidArgumentError('It must be a number of seconds, at most a day.');
  }
  return value;
}

function baseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError('It must be an http or https URL.');
  }
  return text;
}

/** Adds `simulate` with its options to the program; `finish` gets the exit code. */
export function addSimulateCommand(
  program: Command,
  defaultUrl: string,
  finish: (code: number) => void,
): void {
  program
    .command('simulate')
    .description('enroll simulated devices over the wire and let them obey')
    .option('--devices <count>', 'how many', wholeNumber, 20)
    .addOption(new Option('--platform <name>', 'only these').choices(['iOS', 'macOS']))
    .addOption(new Option('--enroll <way>', 'how').choices(['profile']).default('profile'))
    .option('--url <url>', 'the server', baseUrl, defaultUrl)
    .option('--profile <file>', 'an enrollment profile, in place of the one the server offers')
    .option('--ca <file>', 'certificates (PEM) to trust for https, besides the well-known ones')
    .option('--not-now <probability>', 'how often a device puts a command off', probability, 0)
    .option('--forever', 'keep polling until interrupted')
    .option('--poll-interval <seconds>', 'with --forever: pause between polls', positive, 5)
    .option('--concurrency <count>', 'devices that talk at the same time', wholeNumber, 8)
    .option('--seed <text>', 'the same text makes the same devices again')
    .action(async (options: SimulateOptions) => {
      finish(await simulate(options, { out: process.stdout }));
    });
}
