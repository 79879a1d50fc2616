import { type Command, Option } from 'commander';
import { type Config, ConfigError } from '../../config/config.js';
import { AppError } from '../../errors.js';
import type { SimulatedDevice } from '../../lab/devices/simulated-device.js';
import { Fleet } from '../../lab/fleet/fleet.js';
import type { Answered } from '../../lab/fleet/fleet-member.js';
import { describeSummary } from '../../lab/fleet/summary.js';
import { openLabCourier } from '../../lab/wire/lab-description.js';
import { LabError } from '../../lab/wire/lab-error.js';
import type { Logger } from '../../logger.js';
import { callApi, readAdminToken } from '../api/api-client.js';
import { wholeNumber } from '../options.js';
import { serveCommand } from '../serve.js';
import { describeLab, type LabDevice } from './lab-guide.js';

/** What `muster lab` takes on its command line. */
export interface LabOptions {
  devices: number;
  platform?: 'iOS' | 'macOS';
}

export interface LabIo {
  config: Config;
  logger: Logger;
  out: { write(text: string): unknown };
}

const CONCURRENCY = 8;
/** The largest page of the API. */
const MAX_LISTED = 1000;

/** Serves with the lab on and enrolls a few simulated devices. */
export async function lab(options: LabOptions, io: LabIo): Promise<void> {
  const { config, logger } = io;
  if (new URL(config.publicUrl).port === '0') {
    throw new ConfigError(['PORT: devices cannot reach port 0; set PORT or PUBLIC_URL']);
  }
  await serveCommand(config, logger, (signal, { publicUrl, certificate: ca }) =>
    new LabSession(options, { ...io, config: { ...config, publicUrl }, ca }, signal).run(),
  );
}

class LabSession {
  private readonly fleet: Fleet;
  private devices = new Map<string, LabDevice>();
  private controlUrl = '';
  private portalUrl: string | undefined;

  constructor(
    private readonly options: LabOptions,
    private readonly io: LabIo & { ca: string | undefined },
    signal: AbortSignal,
  ) {
    const { ca, config } = io;
    const { devices, platform } = options;
    const url = config.publicUrl;
    this.fleet = new Fleet({
      devices,
      platform,
      signal,
      notNow: 0,
      forever: true,
      pollIntervalMs: 0,
      way: { enroll: 'profile', url },
      trustedCas: ca,
      concurrency: CONCURRENCY,
      openCourier: async (http) => {
        const { courier, description } = await openLabCourier(http, { url, signal });
        this.controlUrl = description.apns.control;
        this.portalUrl = description.dep?.portal;
        return courier;
      },
      onAnswer: (device, answered) => this.printAnswer(device, answered),
      onReady: () => this.printGuide(),
    });
  }

  async run(): Promise<void> {
    const { devices } = this.options;
    this.io.out.write(`The lab is on. Enrolling ${devices} simulated devices …\n`);
    await this.fleet.run();
  }

  private async printGuide(): Promise<void> {
    const { config, out } = this.io;
    const snapshot = this.fleet.state.snapshot();
    if (snapshot.failures.length > 0 || snapshot.unpushed > 0) {
      out.write(`${describeSummary(snapshot)}\n`);
    }
    if (snapshot.stages.enrolled === 0) throw new LabError('no device could enroll');
    const devices = await this.readDevices();
    const { controlUrl, portalUrl } = this;
    out.write(`\n${describeLab({ config, devices, controlUrl, portalUrl })}\n`);
    this.devices = new Map(devices.map((device) => [device.serialNumber, device]));
  }

  /** The enrolled devices as the API shows them, in the order of enrollment. */
  private async readDevices(): Promise<LabDevice[]> {
    const { config, ca } = this.io;
    const size = Math.min(this.options.devices, MAX_LISTED);
    const query = 'filter[is_enrolled]=true&fields[devices]=serial_number,platform,device_name';
    const { status, body } = await callApi({
      method: 'GET',
      url: new URL(`${config.publicUrl}/api/v1/devices?sort=-id&page[size]=${size}&${query}`),
      token: await readAdminToken(config),
      headers: {},
      ca,
    });
    if (status !== 200) throw new AppError('unavailable', 503, `the API answered ${status}`);
    return toDevices(JSON.parse(body.toString('utf8'))).reverse();
  }

  private printAnswer({ identity }: SimulatedDevice, { requestType, status }: Answered): void {
    const device = this.devices.get(identity.serialNumber);
    if (device === undefined) return;
    const time = new Date().toTimeString().slice(0, 8);
    this.io.out.write(`${time}  ${device.id} ${device.name}: ${requestType} ${status}\n`);
  }
}

interface DeviceList {
  data: {
    id: number;
    attributes: { serial_number: string; platform: string; device_name: string };
  }[];
}

function toDevices({ data }: DeviceList): LabDevice[] {
  return data.map(({ id, attributes }) => {
    const { serial_number: serialNumber, platform, device_name: name } = attributes;
    return { id, serialNumber, platform, name };
  });
}

/** Adds `lab` to the program. */
export function addLabCommand(
  program: Command,
  open: () => Promise<Pick<LabIo, 'config' | 'logger'>>,
): void {
  program
    .command('lab')
    .description('serve with stand-ins for Apple and a few simulated devices, to try things out')
    .option('--devices <count>', 'how many', wholeNumber, 5)
    .addOption(new Option('--platform <name>', 'only these').choices(['iOS', 'macOS']))
    .action(async (options: LabOptions) => {
      await lab(options, { ...(await open()), out: process.stdout });
    });
}
