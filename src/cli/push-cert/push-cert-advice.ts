import type { PushCertKnown } from './push-cert-known.js';

const PORTAL = 'https://identity.apple.com/pushcert';
const IMPORT = 'Download the certificate and run: muster push-cert import --cert FILE';

type Known = Pick<PushCertKnown, 'account' | 'topic'>;

function numbered(steps: string[]): string[] {
  return ['Next:', ...steps.map((step, at) => `${at + 1}. ${step}`)];
}

function signIn(account: string | null): string {
  return `Sign in at ${PORTAL} with the Apple Account ${account}.`;
}

function choose({ topic }: Known, file: string): string {
  if (topic === undefined) return `Choose "Create a Certificate" and upload ${file}.`;
  return (
    `Choose "Renew" beside the certificate whose subject has the UID ${topic}, and upload ${file}. ` +
    'The topic must stay: a certificate made by "Create" has another, and every device would have ' +
    'to enroll anew.'
  );
}

/** With the file that the portal takes. */
export function portalSteps(known: Known, file: string): string[] {
  return numbered([signIn(known.account), choose(known, file), IMPORT]);
}

/** With a request that no vendor has signed. */
export function unsignedSteps(
  known: Known,
  { file, reason }: { file: string; reason: string },
): string[] {
  return [
    `Apple's portal takes only requests that an MDM vendor has signed. ${reason}.`,
    ...numbered([
      `Have ${file} signed by someone who has a vendor certificate, and who sends back the file ` +
        'for the portal. With a vendor certificate of your own run instead: muster push-cert ' +
        'request --vendor-cert mdm.cer AppleWWDRCAG3.cer AppleIncRootCertificate.cer --vendor-key ' +
        'vendor.p12',
      signIn(known.account),
      choose(known, 'the file that was sent back'),
      IMPORT,
    ]),
  ];
}

/** With a request that was made before. */
export function uploadSteps(
  { id, account }: { id: number; account: string | null },
  isSigned: boolean,
): string[] {
  const whose = account === null ? '' : ` as ${account}`;
  const signed = isSigned ? '' : ', once an MDM vendor has signed it,';
  return numbered([
    `Upload the file of request ${id}${signed} at ${PORTAL}${whose}. Where it is lost, make another ` +
      'by muster push-cert request.',
    IMPORT,
  ]);
}

/** Where there is no push certificate yet. */
export function firstSteps(): string[] {
  return [
    'Next:',
    `- muster push-cert request --apple-account you@example.com, which makes the file for ${PORTAL};`,
    '- or, with the push certificate of another server: muster push-cert import --cert FILE --key ' +
      'FILE (or --p12 FILE).',
  ];
}

/** What a certificate that ends, or has ended, asks for. */
export function renewalSteps(account: string | null): string[] {
  const whose = account === null ? ' --apple-account WHOSE-IT-IS' : '';
  return numbered([
    `muster push-cert request${whose}`,
    `Renew it at ${PORTAL}${account === null ? '' : ` as ${account}`}, with the file that this writes.`,
    IMPORT,
  ]);
}
