import { AppError } from '../../errors.js';
import type { PushCertKnown } from './push-cert-services.js';

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

/** With a signed request. */
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

/** Before the first push certificate. */
export function firstSteps(): string[] {
  return [
    'Next:',
    `- muster push-cert request --apple-account you@example.com, which makes the file for ${PORTAL};`,
    '- or, with the push certificate of another server: muster push-cert import --cert FILE --key ' +
      'FILE (or --p12 FILE).',
  ];
}

/** For a certificate that expires soon or has expired. */
export function renewalSteps(account: string | null): string[] {
  const whose = account === null ? ' --apple-account WHOSE-IT-IS' : '';
  return numbered([
    `muster push-cert request${whose}`,
    `Renew it at ${PORTAL}${account === null ? '' : ` as ${account}`}, with the file that this writes.`,
    IMPORT,
  ]);
}

/** Replaces requests that the API advises by the commands that do the same. */
export function asCommands(text: string): string {
  return text
    .replaceAll('?force=true', '--force')
    .replaceAll('POST it to /api/v1/push_certificates', 'import it by muster push-cert import')
    .replaceAll('DELETE /api/v1/', 'muster api DELETE /');
}

/** For `catch`: rethrows the error with the advice of `asCommands`. */
export function rethrowAsCommands(error: unknown): never {
  if (!(error instanceof AppError)) throw error;
  throw new AppError(error.code, error.status, asCommands(error.message), { cause: error });
}
