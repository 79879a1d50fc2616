import { isPlistDict, type PlistDict } from '../../protocol/plist/plist.js';
import { type Answer, failed } from '../answers/answer.js';
import { executeCommand, executeUserCommand } from '../answers/commands.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { DeviceSession, UserSession } from '../enrollment/enroll.js';
import { renewIdentity } from '../enrollment/renew.js';
import type { MdmClient } from '../wire/mdm-client.js';
import {
  type Channel,
  checkOutMessage,
  deviceChannel,
  idleMessage,
  notNowMessage,
  reportMessage,
  userChannel,
} from '../wire/messages.js';

export interface PollOptions {
  /** Probability of NotNow for each offer. */
  notNow: number;
  onAnswer: (status: Answer['status'] | 'NotNow', requestType: string) => void;
}

/**
 * What a push causes: Idle, then a report for each command offered, until there is none left; then
 * the same on the user channel. Resolves with the number of offers. An erased device sends nothing
 * more.
 */
export async function poll(session: DeviceSession, options: PollOptions): Promise<number> {
  const { device, user } = session;
  const common = { device, mdm: () => session.mdm, options };
  const offers = await answerOffers({ ...common, party: deviceParty(session) });
  if (device.isErased) return offers;
  if (device.isReleased) {
    await session.mdm.checkIn(checkOutMessage(device, session.topic));
    return offers;
  }
  if (user?.user.isLoggedIn !== true) return offers;
  return offers + (await answerOffers({ ...common, party: userParty(session, user) }));
}

/** Commands answered NotNow and not answered since. */
export function countPostponed({ postponed, user }: DeviceSession): number {
  return postponed.size + (user?.postponed.size ?? 0);
}

interface Offer {
  commandUuid: string;
  command: PlistDict;
}

/** The device, or a user of it. */
interface Party {
  channel: Channel;
  postponed: Set<string>;
  execute(command: PlistDict): Promise<Answer>;
}

function deviceParty(session: DeviceSession): Party {
  const { device, postponed } = session;
  return {
    channel: deviceChannel(device),
    postponed,
    execute: async (command) =>
      (await renewIdentity(session, command)) ?? executeCommand(device, command),
  };
}

function userParty({ device }: DeviceSession, { user, postponed }: UserSession): Party {
  return {
    channel: userChannel(device, user),
    postponed,
    execute: (command) => Promise.resolve(executeUserCommand({ device, user }, command)),
  };
}

function readOffer(body: PlistDict): Offer | undefined {
  const { CommandUUID: commandUuid, Command: command } = body;
  if (typeof commandUuid !== 'string' || !isPlistDict(command)) return undefined;
  return { commandUuid, command };
}

interface Exchange {
  device: SimulatedDevice;
  mdm: () => MdmClient;
  party: Party;
  options: PollOptions;
}

/** Answer of a device whose behavior is to fail every command. */
const BROKEN = failed(12_021, 'The device is set to fail.');

async function answerOffer(offer: Offer, exchange: Exchange): Promise<Buffer> {
  const { device, party, options } = exchange;
  const { channel, postponed } = party;
  const { commandUuid, command } = offer;
  const requestType = typeof command.RequestType === 'string' ? command.RequestType : undefined;
  if (device.behavior === 'busy' || device.random.chance(options.notNow)) {
    postponed.add(commandUuid);
    options.onAnswer('NotNow', requestType ?? '');
    return notNowMessage(channel, commandUuid);
  }
  const answer = device.behavior === 'failing' ? BROKEN : await party.execute(command);
  postponed.delete(commandUuid);
  options.onAnswer(answer.status, requestType ?? '');
  const { platform } = device.identity;
  return reportMessage({ channel, platform }, { commandUuid, requestType, answer });
}

async function answerOffers(exchange: Exchange): Promise<number> {
  const { device, mdm, party } = exchange;
  let offers = 0;
  let next = await mdm().report(idleMessage(party.channel));
  while (next !== undefined) {
    const offer = readOffer(next);
    if (offer === undefined) return offers;
    offers += 1;
    if (device.behavior === 'mute') return offers;
    const report = await answerOffer(offer, exchange);
    next = await mdm().report(report);
    if (device.isErased) return offers;
  }
  return offers;
}
