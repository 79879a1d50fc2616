import type { JsonObject } from '../commands/present-command.js';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import { hasSecrets } from '../protocol/apple/command-schema.js';

/** What is stored of a batch's parameters. */
export interface StoredParameters {
  uuid: string;
  parameters: Buffer;
}

function labelOf(uuid: string): string {
  return `command_batches/${uuid}/parameters`;
}

/** As JSON, sealed when it has a secret. */
export function sealParameters(
  box: SecretBox,
  { uuid, parameters }: { uuid: string; parameters: JsonObject },
): Buffer {
  const json = Buffer.from(JSON.stringify(parameters), 'utf8');
  return hasSecrets(parameters) ? box.seal(json, labelOf(uuid)) : json;
}

/** The stored parameters, as the client sent them. */
export function openParameters(box: SecretBox, { uuid, parameters }: StoredParameters): JsonObject {
  const json = SecretBox.isSealed(parameters) ? box.open(parameters, labelOf(uuid)) : parameters;
  return JSON.parse(json.toString('utf8')) as JsonObject;
}
