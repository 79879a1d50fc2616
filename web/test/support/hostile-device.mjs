// A device that enrolls as it should, and sends markup in every text that is its own to choose.
import { DEVICE_COLUMNS } from '../../../dist/src/commands/handlers/device-information.js';
import { executeCommand } from '../../../dist/src/lab/answers/commands.js';
import { Random } from '../../../dist/src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../dist/src/lab/devices/simulated-device.js';
import { enroll } from '../../../dist/src/lab/enrollment/enroll.js';
import { fetchProfile } from '../../../dist/src/lab/enrollment/enrollment-profile.js';
import { KeyPool } from '../../../dist/src/lab/enrollment/key-pool.js';
import { HttpClient } from '../../../dist/src/lab/wire/http-client.js';
import { deviceChannel, idleMessage, reportMessage } from '../../../dist/src/lab/wire/messages.js';
import { markup } from './hostile-texts.mjs';

const BYPASS_CODE = 'ActivationLockBypassCode';

/** What identifies the device or has a form that the server checks. */
const KEPT = new Set([
  'UDID',
  'SerialNumber',
  'UserGUID',
  'PayloadUUID',
  'OSVersion',
  'iTunesStoreAccountHash',
]);

/** Every text of an answer, at any depth, becomes markup that names its key. */
function withMarkup(value, key = '') {
  if (typeof value === 'string') {
    return KEPT.has(key) || value.includes('<img') ? value : markup(key);
  }
  if (Array.isArray(value)) return value.map((entry) => withMarkup(entry, key));
  const isDict = Object.getPrototypeOf(value ?? 0) === Object.prototype;
  if (!isDict) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, withMarkup(entry, name)]),
  );
}

/** Answers that a simulated device makes from texts of its own. */
const OWN = new Set(['DeviceName', 'ProductName']);

/** Texts that Apple's schema has for a query, also those that no simulated device answers. */
function textsOf({ RequestType: type, Queries: queries = [] }) {
  if (type !== 'DeviceInformation') return {};
  const texts = queries.filter(
    (query) => DEVICE_COLUMNS[query]?.[1] === 'text' && !KEPT.has(query) && !OWN.has(query),
  );
  return Object.fromEntries(texts.map((query) => [query, markup(query)]));
}

export class HostileDevice {
  #session;
  #http;
  #profileUrl;
  #answers = 0;

  static async enroll(lab, { platform, refuses = [] }) {
    const hostile = new HostileDevice();
    const signal = new AbortController().signal;
    hostile.#http = new HttpClient({ retryMs: 10_000, signal });
    hostile.refuses = refuses;
    const device = createSimulatedDevice({
      platform,
      random: new Random('hostile'),
      isSupervised: true,
    });
    const { identity } = device;
    device.deviceName = markup('DeviceName');
    device.identity = {
      ...identity,
      model: {
        ...identity.model,
        modelName: markup('ModelName'),
        // Its beginning says which platform the device has.
        productName: `${identity.model.productName} ${markup('ProductName')}`,
        orderNumber: markup('Model'),
      },
      release: { ...identity.release, build: markup('BuildVersion') },
      // One without a modem has no texts of a carrier.
      isCellular: platform === 'iOS',
      imei: markup('IMEI'),
      meid: markup('MEID'),
    };
    if (device.user !== undefined) {
      device.user.shortName = markup('UserShortName');
      device.user.longName = markup('UserLongName');
    }
    hostile.serial = identity.serialNumber;
    hostile.#profileUrl = lab.url;
    await hostile.#enroll(device);
    return hostile;
  }

  /** Once more, as after its profile was removed. */
  enrollAgain() {
    return this.#enroll(this.#session.device);
  }

  async #enroll(device) {
    const profile = await fetchProfile(this.#http, this.#profileUrl);
    this.#session = await enroll(device, { http: this.#http, profile, keys: new KeyPool() });
  }

  /** Answers all that the server asks; resolves with the number of answers so far. */
  async poll() {
    const { device, mdm } = this.#session;
    const channel = deviceChannel(device);
    const { platform } = device.identity;
    let offer = await mdm.report(idleMessage(channel));
    while (offer !== undefined) {
      const { CommandUUID: commandUuid, Command: command } = offer;
      const requestType = command.RequestType;
      const answer = this.#answer(command);
      offer = await mdm.report(
        reportMessage({ channel, platform }, { commandUuid, requestType, answer }),
      );
      this.#answers += 1;
    }
    return this.#answers;
  }

  #answer(command) {
    const type = command.RequestType;
    // No simulated device has such a code.
    if (type === BYPASS_CODE) return { status: 'Acknowledged', body: { [type]: markup(type) } };
    const answer = executeCommand(this.#session.device, command);
    if (answer.status !== 'Acknowledged' || this.refuses.includes(command.RequestType)) {
      const error = { code: 12_021, domain: markup('ErrorDomain') };
      return { status: 'Error', errors: [{ ...error, message: markup('LocalizedDescription') }] };
    }
    const body = withMarkup(answer.body);
    if (body?.QueryResponses !== undefined) {
      body.QueryResponses = { ...body.QueryResponses, ...textsOf(command) };
    }
    return { status: answer.status, body };
  }

  /** What its next answer about itself says. */
  rename(name) {
    this.#session.device.deviceName = name;
  }

  close() {
    this.#http.close();
  }
}
