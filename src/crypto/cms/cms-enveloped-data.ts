/** CMS EnvelopedData (RFC 5652 clause 6): opening, sealing, listing the recipients. */
export type { ContentAlgorithm, GcmAlgorithm } from './content-ciphers.js';
export { type EnvelopeOpener, openEnvelopedData } from './open-enveloped-data.js';
export { type EnvelopeRecipient, envelopeRecipients } from './parse-enveloped-data.js';
export { type SealEnvelopeOptions, sealEnvelopedData } from './seal-enveloped-data.js';
