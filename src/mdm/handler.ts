import type { IncomingMessage } from 'node:http';
import { Router } from 'express';
import { toAppError } from '../db/connection/sqlstate.js';
import { AppError } from '../errors.js';
import { readBodySoon } from '../http/bodies/raw-body.js';
import { deviceErrorHandler, noteSender, type Sender } from '../http/errors/device-errors.js';
import type { DeviceHandler } from '../http/server/server.js';
import type { Logger } from '../logger.js';
import { type Answer, sendAnswer } from './answer.js';
import { answerCheckIn } from './check-in.js';
import {
  claimedSender,
  type DeviceMessage,
  MAX_CLAIMED_BYTES,
  senderIn,
} from './device-message.js';
import {
  type Credential,
  type Identity,
  identify,
  provenSender,
  readCredential,
  shortFingerprint,
  signerOf,
} from './identity.js';
import { answerReport } from './report.js';
import type { MdmServices } from './services.js';

/** Larger than any inventory seen: a Mac's list of 1,000 applications has 300 kB. */
const MESSAGE_LIMIT = 8 * 1024 * 1024;

const CHECK_IN_TYPE = 'application/x-apple-aspen-mdm-checkin';

/**
 * PUT /mdm and PUT /checkin: check the headers, read, identify, decode, dispatch, answer. Throws
 * AppError, which the caller answers with a bare status. `onMessage` is called with the type of each
 * message that could be read: the status of a report, the MessageType of a check-in.
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
    const body = await services.bodies.read(req, MESSAGE_LIMIT, provenSender(credential));
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
      services.logger.info(about, 'answered 403: the device is no longer enrolled');
    }
    sendAnswer(res, answer);
  };
}

/** The same handler for Express; the server calls it directly, without Express, where it can. */
export function createMdmRouter(handler: DeviceHandler, logger: Logger): Router {
  const router = Router();
  for (const path of ['/mdm', '/checkin']) {
    router.put(path, (req, res) => handler(req, res));
    router.all(path, () => {
      throw new AppError('method_not_allowed', 405, 'devices use PUT', {
        headers: { Allow: 'PUT' },
      });
    });
  }
  router.use(deviceErrorHandler(logger));
  return router;
}

/** If the headers are refused, records the device that a short body claims, for the log. */
async function noteClaimedSender(req: IncomingMessage): Promise<void> {
  const body = await readBodySoon(req, MAX_CLAIMED_BYTES);
  if (body !== undefined) noteSender(req, claimedSender(body));
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
    noteSender(req, claimedSender(body));
    throw error;
  }
}

/** A check-in has its Content-Type and a MessageType; a request with only the former is refused. */
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
    throw withOutageNamed(error);
  }
}

/** An outage of the database as AppError unavailable; any other error unchanged. */
function withOutageNamed(error: unknown): unknown {
  const known = toAppError(error);
  return known.code === 'unavailable' ? known : error;
}
