import { readDer } from '../../crypto/asn1/der-reader.js';
import { derSequence } from '../../crypto/asn1/der-writer.js';

/** The certificates of `chain_der`, which stores them as DER one after the other; each as DER. */
export function splitChain(chain: Buffer | null): Buffer[] {
  if (chain === null) return [];
  const members = readDer(derSequence(chain)).children();
  const certificates: Buffer[] = [];
  while (!members.done) certificates.push(members.next().raw);
  return certificates;
}
