/** ASN.1: reader (strict DER, and BER), values, writer. */
export * from './der-reader.js';
export * from './der-values.js';
export * from './der-writer.js';
