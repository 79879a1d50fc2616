import type { EnvelopeOpener } from '../../src/crypto/cms/cms-enveloped-data.js';
import { openSmimeMessage, readSmime } from '../../src/crypto/cms/smime.js';

/**
 * Reads an enveloped S/MIME message and opens it, as `openSmimeMessage` does.
 * @throws AppError `invalid_message`
 */
export function openSmime(bytes: Buffer, opener: EnvelopeOpener): Buffer {
  return openSmimeMessage(readSmime(bytes), opener);
}
