import type { IncomingMessage } from 'node:http';
import { toAppError } from '../db/connection/sqlstate.js';
import { AppError } from '../errors.js';
import { readBodySoon } from '../http/bodies/raw-body.js';
import { noteSender, type Sender } from '../http/errors/device-errors.js';
import type { DeviceHandler } from '../http/server/server.js';
import { type Answer, sendAnswer } from './answer.js';
import { answerCheckIn } from './check-in.js';
import type { DeviceMessage } from './device-message.js';
import {
  type Credential,
  type Identity,
  identify,
  provenSender,
  readCredential,
  signerOf,
} from './identity.js';
import { answerReport } from './report.js';
import { MOST_READ, senderClaimed, senderIn, shortFingerprint } from './sender.js';
import type { MdmServices } from './services.js';

/** Larger than any inventory seen: a Mac's list of 1,000 applications has 300 kB. */
const BODY_LIMIT = 8 * 1024 * 1024;

const CHECK_IN_TYPE = 'application/x-apple-aspen-mdm-checkin';

/** A check-in says so by its Content-Type or by its MessageType; both must not disagree. */
function checkContentType(req: IncomingMessage, message: DeviceMessage): void {
  const isCheckInType = (req.headers['content-type'] ?? '').startsWith(CHECK_IN_TYPE);
  if (isCheckInType && message.kind === 'report') {
    throw new AppError('invalid_message', 400, 'a check-in without a MessageType');
  }
}

async function dispatch(
  message: DeviceMessage,
  { identity, url }: { identity: Identity; url: string | undefined },
  services: MdmServices,
): Promise<Answer> {
  try {
    return message.kind === 'report'
      ? await answerReport(message, identity, services)
      : await answerCheckIn(message, { identity, url }, services);
  } catch (error) {
    throw explained(error);
  }
}

/** Identifies the sender. On failure, the log names the device that the message claims. */
function identifyOrNoteSender(
  credential: Credential,
  { req, body }: { req: IncomingMessage; body: Buffer },
  services: MdmServices,
): Identity {
  try {
    return identify(credential, body, services);
  } catch (error) {
    noteSender(req, senderClaimed(body));
    throw error;
  }
}

/** A refusal by the headers names the device that the message claims, if that is short and there. */
async function noteClaimedSender(req: IncomingMessage): Promise<void> {
  const body = await readBodySoon(req, MOST_READ);
  if (body !== undefined) noteSender(req, senderClaimed(body));
}

/** An outage by its name, for the log; any other error of the driver stays one, and becomes 503. */
function explained(error: unknown): unknown {
  const known = toAppError(error);
  return known.code === 'unavailable' ? known : error;
}

/**
 * PUT /mdm and PUT /checkin: check the headers, read, identify, decode, dispatch, answer. Throws
 * AppError, which the caller turns into a bare status. `onMessage` gets the type of each message that
 * could be read: the status of a report, the MessageType of a check-in.
 */
export function createDeviceHandler(
  services: MdmServices,
  onMessage?: (type: string) => void,
): DeviceHandler {
  return async (req, res) => {
    let credential: Credential;
    try {
      credential = readCredential(req, services);
    } catch (error) {
      await noteClaimedSender(req);
      throw error;
    }
    const { messages } = services;
    messages.assertWithinBudget(
      signerOf(credential).fingerprint,
      Number(req.headers['content-length']),
    );
    const body = await services.bodies.read(req, BODY_LIMIT, provenSender(credential));
    const identity = identifyOrNoteSender(credential, { req, body }, services);
    const sender: Sender = { fingerprint: shortFingerprint(identity.fingerprint) };
    noteSender(req, sender);
    const message = await messages.read(body, identity.fingerprint);
    checkContentType(req, message);
    onMessage?.(message.kind === 'report' ? message.status : message.kind);
    const answer = await dispatch(message, { identity, url: req.url }, services).catch(
      (error: unknown) => {
        Object.assign(sender, senderIn(message));
        throw error;
      },
    );
    if (answer.kind === 'unrecognized') {
      const about = { ...sender, ...senderIn(message) };
      services.logger.info(about, 'a device was told that its enrollment is over');
    }
    sendAnswer(res, answer);
  };
}
