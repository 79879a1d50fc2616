import { faultsOfOffer } from '../commands/offer-eligibility.js';
import { openPayload, sealReport } from '../commands/payload.js';
import { staleSecrets } from '../commands/rendered-profile.js';
import { promoteRenewal } from '../db/device-path/check-ins.js';
import {
  expireExhausted,
  recordUnknownReport,
  withdrawCommand,
  withdrawIneligible,
} from '../db/device-path/report-exceptions.js';
import type {
  ExchangeResult,
  IncomingReport,
  NextCommand,
} from '../db/device-path/report-exchange.js';
import { AppError } from '../errors.js';
import { type Answer, EMPTY, UNRECOGNIZED } from './answer.js';
import { checkCaller, ENROLLED } from './check-caller.js';
import type { DeviceReport } from './device-message.js';
import type { Identity } from './identity.js';
import type { MdmServices } from './services.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Stores what the device reports (Idle, Acknowledged, Error, CommandFormatError, NotNow) and answers
 * with the next command, both in one statement: `db/device-path/report-exchange.ts`. A user of the device has
 * a queue of their own, and their reports do not change the device.
 */
export async function answerReport(
  report: DeviceReport,
  identity: Identity,
  services: MdmServices,
): Promise<Answer> {
  const incoming = toIncoming(report, identity, services);
  const answer = await services.reportExchange.exchange(incoming);
  const deviceId = checkCaller(answer, ENROLLED);
  if (deviceId === undefined) return UNRECOGNIZED;
  if (report.ids.channel === 'device') services.lastSeen.mark(deviceId, identity.signedAt);
  await applySideEffects(report, { answer, deviceId, identity }, services);
  return offerNext(incoming, answer, services);
}

function toIncoming(
  report: DeviceReport,
  identity: Identity,
  services: MdmServices,
): IncomingReport {
  const uuid = ownUuid(report);
  const { status, errorChain, raw, holdsSecrets } = report;
  const { deviceKey, userKey } = report.ids;
  return {
    fingerprint: identity.fingerprint,
    deviceKey: deviceKey.toLowerCase(),
    userKey,
    status,
    commandUuid: uuid,
    errorChain,
    result:
      uuid === null ? null : sealReport(services.box, { commandUuid: uuid, raw, holdsSecrets }),
  };
}

/** The CommandUUID if Muster can have made it; null for commands that were never queued here. */
function ownUuid(report: DeviceReport): string | null {
  const uuid = report.commandUuid;
  return uuid !== undefined && UUID.test(uuid) ? uuid.toLowerCase() : null;
}

interface StoredReport {
  answer: ExchangeResult;
  deviceId: number;
  identity: Identity;
}

/** What a report causes beyond the one statement: rare, but for the inventory handlers. */
async function applySideEffects(
  report: DeviceReport,
  { answer, deviceId, identity }: StoredReport,
  services: MdmServices,
): Promise<void> {
  const { reported, pinState } = answer;
  const isDevice = report.ids.channel === 'device';
  if (isDevice && pinState === 'renewal') await promoteRenewal(services.db, identity.fingerprint);
  if (reported?.needsHandling === true) services.reports.submit({ id: reported.id, deviceId });
  if (reported === null && report.status !== 'Idle') {
    await recordUnknown(report, deviceId, services);
  }
}

/** Stores a report that matches no pending command, so that nothing a device reports is lost. */
async function recordUnknown(
  report: DeviceReport,
  deviceId: number,
  { db, box, logger }: MdmServices,
): Promise<void> {
  const commandUuid = report.commandUuid ?? '';
  const userKey = report.ids.userKey ?? null;
  const sealedReport = box.seal(report.raw, `unknown_reports/${deviceId}`);
  const { status } = report;
  const uuid = ownUuid(report);
  await recordUnknownReport(db, { deviceId, userKey, commandUuid, uuid, status, sealedReport });
  logger.info({ deviceId, commandUuid, status }, 'report for an unknown or finished command');
}

/** Commands that can't be sent and end at one contact. */
const MAX_ENDED = 100;

/**
 * Answers with the next command that the device can still take. One that has used up its offers expires
 * before, and one that the device is no longer eligible for is cancelled.
 */
async function offerNext(
  incoming: IncomingReport,
  first: ExchangeResult,
  services: MdmServices,
): Promise<Answer> {
  const again = { ...incoming, commandUuid: null, errorChain: null, result: null };
  let answer = first;
  for (let ended = 0; ended < MAX_ENDED; ended += 1) {
    if (!(await endUnsendable(incoming, answer, services))) {
      const { next, deviceId } = answer;
      if (next === null || deviceId === null) return EMPTY;
      const body = await openOrWithdraw(next, deviceId, services);
      if (body !== undefined) return { kind: 'plist', body };
    }
    answer = await services.reportExchange.exchange(again);
  }
  return EMPTY;
}

/** The plist for the device; undefined for a profile that can't be rendered, which is cancelled. */
async function openOrWithdraw(
  next: NextCommand,
  deviceId: number,
  { db, box, profiles, logger }: MdmServices,
): Promise<Buffer | undefined> {
  const { uuid, payload, values } = next;
  if (values === undefined) return openPayload(box, next);
  const stale = staleSecrets(values);
  let reason = `variable_has_no_value: ${stale.join(', ')} was deleted or changed meanwhile`;
  if (stale.length === 0) {
    try {
      return await profiles.render({ uuid, payload, values });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid_plist') throw error;
      reason = `a value does not fit into a property list: ${error.message}`;
    }
  }
  await withdrawCommand(db, { deviceId, uuid, reason });
  logger.info({ deviceId, commandUuid: uuid, reason }, 'a profile can not be rendered');
  return undefined;
}

/** Whether the next command could not be sent; it has its final status then. */
async function endUnsendable(
  { userKey }: IncomingReport,
  { deviceId, next, isNextExhausted }: ExchangeResult,
  { db, box, logger }: MdmServices,
): Promise<boolean> {
  if (deviceId === null) return false;
  if (isNextExhausted) {
    await expireExhausted(db, deviceId, userKey);
    const text = 'a command was offered as often as its ttl allows and never answered';
    logger.warn({ deviceId, userKey }, text);
    return true;
  }
  if (next === null) return false;
  const { uuid, requestType, isForced, facts } = next;
  const isForUser = userKey !== undefined;
  const openPlist = () => openPayload(box, next);
  const offer = { deviceId, requestType, facts, isForUser, isForced, openPlist };
  const { ofType, ofParameters } = faultsOfOffer(offer);
  const faults = [...ofType, ...ofParameters];
  if (faults.length === 0) return false;
  const reason = `not_eligible_any_more: ${faults.map(({ detail }) => detail).join('; ')}`;
  if (ofType.length === 0) await withdrawCommand(db, { deviceId, uuid, reason });
  else await withdrawIneligible(db, { deviceId, userKey, requestType, uuid, reason });
  logger.info({ deviceId, userKey, requestType, reason }, 'a command is no longer possible');
  return true;
}
