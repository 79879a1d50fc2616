import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { BEHAVIOR_NAMES, type Behavior } from '../../lab/devices/behavior.js';
import { Fleet, type FleetOptions } from '../../lab/fleet/fleet.js';
import { openFleetControl } from '../../lab/fleet/fleet-control.js';
import { isComplete } from '../../lab/fleet/fleet-state.js';
import { describeProgress, describeSummary } from '../../lab/fleet/summary.js';
import { type LabCourier, openLabCourier } from '../../lab/wire/lab-description.js';
import { isPlistDict } from '../../protocol/plist/plist.js';
import { httpUrl, probability, seconds, UsageError, wholeNumber } from '../options.js';
import { chooseWay, WAYS, type WayOptions } from './choose-enrollment-way.js';

/** What `muster simulate` takes on its command line. */
export interface SimulateOptions extends WayOptions {
  devices: number;
  /** Users of Macs and of Shared iPads ask for commands, too. */
  user?: boolean;
  /** Stay in Setup Assistant until the server says DeviceConfigured. */
  awaitConfiguration?: boolean;
  /** Ask how to return to service, and print the answer. */
  returnToService?: boolean;
  /** Path of a PEM file with CAs to trust for https. */
  ca?: string;
  /** Probability from 0 to 1. */
  notNow: number;
  /** Payload types. */
  refusePayload?: string[];
  /** How the devices behave at first. */
  break?: Behavior;
  /** Port on loopback. */
  control?: number;
  /** Identifiers of profiles. */
  loseProfile?: string[];
  /** Devices poll when the lab of the server pushes them, not at intervals. */
  push?: boolean;
  forever?: boolean;
  /** Seconds. */
  pollInterval: number;
  concurrency: number;
  seed?: string;
}

export interface SimulateIo {
  out: { write(text: string): unknown; isTTY?: boolean };
  /** Ends the simulation; without one Ctrl-C and SIGTERM do. */
  signal?: AbortSignal | undefined;
}

const PLAIN_INTERVAL_MS = 5_000;
const TTY_INTERVAL_MS = 100;

async function toFleetOptions(
  options: SimulateOptions,
  signal: AbortSignal,
  out: SimulateIo['out'],
): Promise<FleetOptions> {
  const { ca, pollInterval, push, forever = false, platform, seed } = options;
  const { devices, url, notNow, concurrency, user: asUser = false } = options;
  const { awaitConfiguration: isAwaitingConfiguration = false } = options;
  if (isAwaitingConfiguration && options.enroll !== 'ade') {
    throw new UsageError('--await-configuration goes with --enroll ade');
  }
  const trustedCas = ca === undefined ? undefined : await readCas(ca);
  const { way, awaited } = await chooseWay(options, { trustedCas, signal });
  return {
    devices,
    platform,
    way,
    awaited,
    asUser,
    isAwaitingConfiguration,
    trustedCas,
    notNow,
    refusedPayloads: options.refusePayload,
    profilesToLose: options.loseProfile,
    behavior: options.break,
    forever,
    pollIntervalMs: pollInterval * 1000,
    openCourier: push ? (http) => openCourier(http, { url, signal }) : undefined,
    concurrency,
    seed,
    signal,
    onReturnToService: options.returnToService ? returnToServicePrinter(out) : undefined,
  };
}

/** Prints which keys a device got; secrets by their length. */
function returnToServicePrinter(out: SimulateIo['out']): FleetOptions['onReturnToService'] {
  return ({ identity }, { ReturnToService, ...rest }) => {
    const inner = isPlistDict(ReturnToService) ? ReturnToService : undefined;
    const keys = { ...inner, ...rest };
    const shown = Object.entries(keys).map(([name, value]) =>
      Buffer.isBuffer(value) ? `${name} ${value.length} bytes` : `${name} ${String(value)}`,
    );
    out.write(`${identity.serialNumber} ReturnToService: ${shown.join(', ')}\n`);
  };
}

function readCas(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: Error) => {
    throw new UsageError(`--ca can't be read: ${cause.message}`);
  });
}

async function openCourier(
  ...target: Parameters<typeof openLabCourier>
): Promise<LabCourier['courier']> {
  return (await openLabCourier(...target)).courier;
}

/** Prints progress: one line that is rewritten on a terminal, a line every 5 s elsewhere. */
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

/** Never stops to listen: under npm Ctrl-C arrives twice. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  process.on('SIGINT', abort).on('SIGTERM', abort);
  return controller.signal;
}

/** Runs a fleet of simulated devices; resolves with the exit code. */
export async function simulate(options: SimulateOptions, io: SimulateIo): Promise<number> {
  const signal = io.signal ?? interruption();
  const fleet = new Fleet(await toFleetOptions(options, signal, io.out));
  const control = await openControl(options.control, fleet, io.out);
  const stopProgress = startProgress(fleet, io.out);
  try {
    await fleet.run();
  } finally {
    stopProgress();
    control?.close();
  }
  const snapshot = fleet.state.snapshot();
  io.out.write(`${describeSummary(snapshot)}\n`);
  return isComplete(snapshot) ? 0 : 1;
}

/** The control of the devices on loopback, if it is asked for. */
async function openControl(port: number | undefined, fleet: Fleet, out: SimulateIo['out']) {
  if (port === undefined) return undefined;
  const control = await openFleetControl(port, fleet).catch((cause: Error) => {
    throw new UsageError(`--control: ${cause.message}`);
  });
  out.write(`control: ${control.url}/devices\n`);
  return control;
}

/** Adds `simulate` with its options to the program; `finish` gets the exit code. */
export function addSimulateCommand(
  program: Command,
  defaultUrl: string,
  finish: (code: number) => void,
): void {
  program
    .command('simulate')
    .description('enroll simulated devices over the wire; they answer commands')
    .option('--devices <count>', 'how many', wholeNumber, 20)
    .addOption(new Option('--platform <name>', 'only these').choices(['iOS', 'macOS']))
    .addOption(new Option('--enroll <way>', 'how').choices(WAYS).default('profile'))
    .option('--url <url>', 'the server', httpUrl, defaultUrl)
    .option('--profile <file>', 'an enrollment profile, in place of the one the server offers')
    .option('--token <text>', '--enroll profile or ota: the token of an enrollment link')
    .option('--account <name>', '--enroll account: whose, such as ada@example.com')
    .option('--password-file <file>', 'of the account; asked for otherwise')
    .option('--await-configuration', '--enroll ade: stay in Setup Assistant until DeviceConfigured')
    .option('--return-to-service', 'ask how to come back after an erase, and print the answer')
    .option('--user', 'users of Macs and of Shared iPads ask for commands, too')
    .option('--ca <file>', 'certificates (PEM) to trust for https, besides the well-known ones')
    .option('--not-now <probability>', 'how often a device puts a command off', probability, 0)
    .option('--refuse-payload <type...>', 'refuse profiles with these payload types')
    .addOption(
      new Option('--break <behavior>', 'how the devices behave: docs/diagnosis.md').choices(
        BEHAVIOR_NAMES,
      ),
    )
    .option('--control <port>', 'change that later, by requests to this port', wholeNumber)
    .option('--lose-profile <identifier...>', 'remove these profiles by hand, once they are listed')
    .option('--push', 'ask only when pushed; the server has to run with LAB=on')
    .option('--forever', 'stay until interrupted')
    .option('--poll-interval <seconds>', '--forever without --push: pause', seconds, 5)
    .option('--concurrency <count>', 'devices that talk at the same time', wholeNumber, 8)
    .option(
      '--seed <text>',
      'the same text makes the same devices again (but not DEP serial numbers)',
    )
    .action(async (options: SimulateOptions) => {
      finish(await simulate(options, { out: process.stdout }));
    });
}
