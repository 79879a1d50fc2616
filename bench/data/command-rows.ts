import { randomUUID } from 'node:crypto';
import type { Random } from '../../src/lab/devices/random.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import type { CopySource, CopyValue } from './copy-rows.js';

const DAY_MS = 86_400_000;
const UUID_MARK = '00000000-0000-4000-8000-000000000000';

const TYPES = [
  'DeviceInformation',
  'InstalledApplicationList',
  'SecurityInfo',
  'ProfileList',
  'CertificateList',
  'AvailableOSUpdates',
  'InstallProfile',
  'Restart',
];

const COLUMNS = [
  'uuid',
  'device_id',
  'request_type',
  'status',
  'attempts',
  'queued_at',
  'sent_at',
  'acknowledged_at',
  'error_chain',
  'payload',
  'result',
];

const ERROR_CHAIN = JSON.stringify([
  { ErrorCode: 12021, ErrorDomain: 'MCMDMErrorDomain', LocalizedDescription: 'not possible now' },
]);

const RESPONSES = Object.fromEntries(
  Array.from({ length: 14 }, (_, n) => [`Answer${n}`, `value ${n} of a typical answer`]),
);

interface Template {
  payload: string[];
  result: string[];
}

interface CommandCounts {
  devices: number;
  perDevice: number;
  /** Without the bytes of payloads and results, of which no list reads any. */
  isSlim?: boolean;
}

/** Mostly answered commands with their answers, as years of use leave them. */
export function commandSource(random: Random, counts: CommandCounts): CopySource {
  return {
    table: 'commands',
    columns: COLUMNS,
    total: counts.devices * counts.perDevice,
    rows: commandRows(random, counts),
  };
}

const SLIM: Template = { payload: ['slim'], result: ['slim'] };

function* commandRows(
  random: Random,
  { devices, perDevice, isSlim = false }: CommandCounts,
): Iterable<CopyValue[]> {
  const templates = TYPES.map((type) => (isSlim ? SLIM : template(type)));
  const start = Date.now() - 400 * DAY_MS;
  const step = (Date.now() - start) / (devices * perDevice);
  // As they are queued in life, of which the ids follow the time: a round over the fleet, then the next.
  for (let n = 0; n < perDevice; n += 1) {
    for (let deviceId = 1; deviceId <= devices; deviceId += 1) {
      const queuedAt = start + (n * devices + deviceId - 1) * step;
      yield commandRow(random, { deviceId, queuedAt }, templates);
    }
  }
}

/** Property lists are ASCII here, so that they go into bytea as they are. */
function template(requestType: string): Template {
  const payload = buildPlist({ Command: { RequestType: requestType }, CommandUUID: UUID_MARK });
  const answer = requestType === 'Restart' ? {} : { QueryResponses: RESPONSES };
  const result = buildPlist({ CommandUUID: UUID_MARK, Status: 'Acknowledged', ...answer });
  const parts = (bytes: Buffer) => bytes.toString('latin1').split(UUID_MARK);
  return { payload: parts(payload), result: parts(result) };
}

function commandRow(
  random: Random,
  { deviceId, queuedAt }: { deviceId: number; queuedAt: number },
  templates: Template[],
): CopyValue[] {
  const number = Math.floor(random.fraction() ** 2 * TYPES.length);
  const { payload, result } = templates[number] as Template;
  const uuid = randomUUID();
  const status = drawStatus(random);
  const isSent = !['Queued', 'Cancelled'].includes(status);
  const isAnswered = ['Acknowledged', 'Error'].includes(status);
  const iso = (time: number) => new Date(time).toISOString();
  return [
    uuid,
    deviceId,
    TYPES[number],
    status,
    isSent ? 1 : 0,
    iso(queuedAt),
    isSent ? iso(queuedAt + 500) : null,
    isAnswered ? iso(queuedAt + 900) : null,
    status === 'Error' ? ERROR_CHAIN : null,
    payload.join(uuid),
    status === 'Acknowledged' ? result.join(uuid) : null,
  ];
}

function drawStatus(random: Random): string {
  const draw = random.fraction();
  if (draw < 0.9) return 'Acknowledged';
  if (draw < 0.93) return 'Queued';
  if (draw < 0.94) return 'Sent';
  if (draw < 0.95) return 'NotNow';
  if (draw < 0.98) return 'Error';
  return draw < 0.99 ? 'Expired' : 'Cancelled';
}
