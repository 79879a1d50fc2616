import { isPlistDict, type PlistDict } from '../../protocol/plist/plist.js';
import type { Answer } from '../answers/answer.js';
import { obey } from '../answers/commands.js';
import { obeyForUser } from '../answers/user-commands.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';
import { renewIdentity } from '../enrollment/renew.js';
import { type Channel, deviceChannel, userChannel } from '../wire/channel.js';
import type { HttpClient } from '../wire/http-client.js';
import type { MdmClient, MdmIdentity } from '../wire/mdm-client.js';
import { checkOutMessage, idleMessage, notNowMessage, reportMessage } from '../wire/messages.js';
import type { KeyPool } from './key-pool.js';

/** A user who asks for commands of their own. */
export interface UserSession {
  user: SimulatedUser;
  /** UUIDs of commands put off with NotNow. */
  postponed: Set<string>;
}

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
  user?: UserSession;
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

/** Who talks: the device, or a user of it. */
interface Speaker {
  channel: Channel;
  postponed: Set<string>;
  obey(command: PlistDict): Promise<Answer>;
}

function deviceSpeaker(session: DeviceSession): Speaker {
  const { device, postponed } = session;
  return {
    channel: deviceChannel(device),
    postponed,
    obey: async (command) => (await renewIdentity(session, command)) ?? obey(device, command),
  };
}

function userSpeaker({ device }: DeviceSession, { user, postponed }: UserSession): Speaker {
  return {
    channel: userChannel(device, user),
    postponed,
    obey: (command) => Promise.resolve(obeyForUser({ device, user }, command)),
  };
}

function readOffer(body: PlistDict): Offer | undefined {
  const { CommandUUID: commandUuid, Command: command } = body;
  if (typeof commandUuid !== 'string' || !isPlistDict(command)) return undefined;
  return { commandUuid, command };
}

interface Conversation {
  device: SimulatedDevice;
  mdm: () => MdmClient;
  speaker: Speaker;
  options: PollOptions;
}

async function answerOffer(offer: Offer, conversation: Conversation): Promise<Buffer> {
  const { device, speaker, options } = conversation;
  const { channel, postponed } = speaker;
  const { commandUuid, command } = offer;
  const requestType = typeof command.RequestType === 'string' ? command.RequestType : undefined;
  if (device.random.chance(options.notNow)) {
    postponed.add(commandUuid);
    options.onAnswer('NotNow', requestType ?? '');
    return notNowMessage(channel, commandUuid);
  }
  const answer = await speaker.obey(command);
  postponed.delete(commandUuid);
  options.onAnswer(answer.status, requestType ?? '');
  const { platform } = device.identity;
  return reportMessage({ channel, platform }, { commandUuid, requestType, answer });
}

async function converse(conversation: Conversation): Promise<number> {
  const { device, mdm, speaker } = conversation;
  let offers = 0;
  let next = await mdm().report(idleMessage(speaker.channel));
  while (next !== undefined) {
    const offer = readOffer(next);
    if (offer === undefined) return offers;
    offers += 1;
    const report = await answerOffer(offer, conversation);
    next = await mdm().report(report);
    if (device.isErased) return offers;
  }
  return offers;
}

/**
 * One connection as a push causes it: Idle, then a report for each command offered, until
 * there is none left; then the same for the user. Resolves with the number of offers. An erased device
 * falls silent at once.
 */
export async function poll(session: DeviceSession, options: PollOptions): Promise<number> {
  const { device, user } = session;
  const common = { device, mdm: () => session.mdm, options };
  const offers = await converse({ ...common, speaker: deviceSpeaker(session) });
  if (device.isErased) return offers;
  if (device.isReleased) {
    await session.mdm.checkIn(checkOutMessage(device, session.topic));
    return offers;
  }
  if (user === undefined) return offers;
  return offers + (await converse({ ...common, speaker: userSpeaker(session, user) }));
}

/** Commands put off and not answered since. */
export function countOwed({ postponed, user }: DeviceSession): number {
  return postponed.size + (user?.postponed.size ?? 0);
}
