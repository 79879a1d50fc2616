import type { IncomingMessage } from 'node:http';
import { toAppError } from '../db/sqlstate.js';
import { AppError } from '../errors.js';
import { noteSender, type Sender } from '../http/device-errors.js';
import { readBody } from '../http/raw-body.js';
import type { DeviceHandler } from '../http/server.js';
import { decodeMessage, type MdmMessage } from '../protocol/mdm-messages.js';
import { type Answer, sendAnswer } from './answer.js';
import { answerCheckIn } from './check-in.js';
import { type Credential, credentialOf, type Identity, identify } from './identity.js';
import { answerReport } from './report.js';
import { senderClaimed, senderIn, shortFingerprint } from './sender.js';
import type { MdmServices } from './services.js';

/** Larger than any inventory seen: a Mac's list of 1,000 applications has 300 kB. */
const BODY_LIMIT = 8 * 1024 * 1024;

const CHECK_IN_TYPE = 'application/x-apple-aspen-mdm-checkin';

/** A check-in says so by its Content-Type or by its MessageType; both must not disagree. */
function decode(req: IncomingMessage, body: Buffer): MdmMessage {
  const message = decodeMessage(body);
  const isCheckInType = (req.headers['content-type'] ?? '').startsWith(CHECK_IN_TYPE);
  if (isCheckInType && message.kind === 'report') {
    throw new AppError('invalid_message', 400, 'a check-in without a MessageType');
  }
  return message;
}

async function dispatch(
  message: MdmMessage,
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

/** Whoever is not believed is told of in the log by what the message says. */
function identifyNoted(
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

/** An outage by its name, for the log; any other error of the driver stays one, and becomes 503. */
function explained(error: unknown): unknown {
  const known = toAppError(error);
  return known.code === 'unavailable' ? known : error;
}

/**
 * PUT /mdm and PUT /checkin: read, identify, decode, dispatch, answer. Faults are thrown as
 * AppError; whoever calls this turns them into a bare status. `onMessage` is told what each message
 * is that could be read: the status of a report, the type of a check-in.
 */
export function createDeviceHandler(
  services: MdmServices,
  onMessage?: (type: string) => void,
): DeviceHandler {
  return async (req, res) => {
    const credential = credentialOf(req, services);
    const body = await readBody(req, BODY_LIMIT);
    const identity = identifyNoted(credential, { req, body }, services);
    const sender: Sender = { fingerprint: shortFingerprint(identity.fingerprint) };
    noteSender(req, sender);
    const message = decode(req, body);
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
