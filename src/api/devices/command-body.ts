import { z } from 'zod';
import type { JsonObject } from '../../commands/present-command.js';
import { parseBody } from '../request-parts.js';

/** The command that a body names: flat, or as the attributes of a JSON:API document. */
export interface TestCommand {
  requestType: string;
  parameters: JsonObject;
  isFlat: boolean;
}

const TEST_BODY = z.strictObject({
  request_type: z.string().max(100).optional(),
  parameters: z.record(z.string(), z.json()).default({}),
});

const DOCUMENT = z.object({ data: z.object({ attributes: z.unknown() }) });

/**
 * The command named in the body: flat, or as the attributes of a JSON:API document. undefined where
 * none is; AppError 422 with every fault.
 */
export function readTestCommand(body: unknown): TestCommand | undefined {
  if (body === undefined) return undefined;
  const document = DOCUMENT.safeParse(body);
  const given = document.success ? document.data.data.attributes : body;
  const prefix = document.success ? '/data/attributes' : '';
  const { request_type: named, parameters } = parseBody(TEST_BODY, given, prefix);
  if (named === undefined && Object.keys(parameters).length === 0) return undefined;
  return { requestType: named ?? 'DeviceInformation', parameters, isFlat: !document.success };
}
