import { isPlistDict, type PlistDict } from '../protocol/plist.js';
import type { Answer } from './answer.js';
import { obey } from './commands.js';
import type { HttpClient } from './http-client.js';
import type { KeyPool } from './key-pool.js';
import type { MdmClient, MdmIdentity } from './mdm-client.js';
import { checkOutMessage, idleMessage, notNowMessage, reportMessage } from './messages.js';
import { renewIdentity } from './renew.js';
import type { SimulatedDevice } from './simulated-device.js';

/** A device that is enrolled, and what it still owes an answer. */
export interface DeviceSession {
  device: SimulatedDevice;
  http: HttpClient;
  keys: KeyPool;
  /** These two change when the identity is renewed. */
  mdm: MdmClient;
  identity: MdmIdentity;
  topic: string;
  /** UUIDs of commands put off with NotNow. */
  postponed: Set<string>;
}

export interface PollOptions {
  /** Probability of NotNow for each offer. */
  notNow: number;
  onAnswer: (status: Answer['status'] | 'NotNow', requestType: string) => void;
}

interface Offer {
  commandUuid: string;
  command: PlistDict;
}

function readOffer(body: PlistDict): Offer | undefined {
  const { CommandUUID: commandUuid, Command: command } = body;
  if (typeof commandUuid !== 'string' || !isPlistDict(command)) return undefined;
  return { commandUuid, command };
}

async function answerOffer(
  session: DeviceSession,
  offer: Offer,
  options: PollOptions,
): Promise<Buffer> {
  const { device, postponed } = session;
  const { commandUuid, command } = offer;
  const requestType = typeof command.RequestType === 'string' ? command.RequestType : undefined;
  if (device.random.chance(options.notNow)) {
    postponed.add(commandUuid);
    options.onAnswer('NotNow', requestType ?? '');
    return notNowMessage(device, commandUuid);
  }
  const answer = (await renewIdentity(session, command)) ?? obey(device, command);
  postponed.delete(commandUuid);
  options.onAnswer(answer.status, requestType ?? '');
  return reportMessage(device, { commandUuid, requestType, answer });
}

/**
 * One connection as a push causes it: Idle, then a report for each command offered, until
 * there is none left. Resolves with the number of offers. An erased device falls silent at once.
 */
export async function poll(session: DeviceSession, options: PollOptions): Promise<number> {
  let offers = 0;
  let next = await session.mdm.report(idleMessage(session.device));
  while (next !== undefined) {
    const offer = readOffer(next);
    if (offer === undefined) return offers;
    offers += 1;
    const report = await answerOffer(session, offer, options);
    next = await session.mdm.report(report);
    if (session.device.isErased) return offers;
  }
  if (session.device.isReleased) {
    await session.mdm.checkIn(checkOutMessage(session.device, session.topic));
  }
  return offers;
}
