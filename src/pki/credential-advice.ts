import type { Credential, CredentialKind } from './credential-status.js';

const NAMES: Record<CredentialKind, string> = {
  push_certificate: 'push certificate',
  certificate_authority: 'certificate authority',
  ssl_certificate: 'TLS certificate',
  dep_token: "token of Apple's device enrollment",
};

const REMEDIES: Record<CredentialKind, string> = {
  push_certificate:
    'Renew it at identity.apple.com under the Apple Account it was made with, so that its topic ' +
    'stays (with another topic every device must enroll anew), and POST it to ' +
    '/api/v1/push_certificates.',
  certificate_authority:
    'Devices with a certificate of it must get one of a successor before that day: POST that to ' +
    '/api/v1/ca_certificates.',
  ssl_certificate:
    'Devices come no longer once it has expired: POST its successor to /api/v1/ssl_certificates.',
  dep_token: 'Get a new one from Apple Business Manager or Apple School Manager and upload it.',
};

function ending({ status, not_after, days_left }: Credential): string {
  const day = not_after.toISOString().slice(0, 10);
  if (status === 'expired') return `expired on ${day}`;
  return `expires on ${day}, in ${days_left} ${days_left === 1 ? 'day' : 'days'}`;
}

/** The one that a push certificate without its key was to replace. */
function staying({ kind, topic }: Credential, all: Credential[]): string {
  const rivals = all.filter((other) => other.kind === kind && other.topic === topic);
  const used = rivals.find(({ status }) => status !== 'no_private_key');
  return used === undefined ? '' : `; id ${used.id}, which ${ending(used)}, stays in its place`;
}

/** What is wrong with one of them, now or soon, and what to do; undefined while all is well. */
export function credentialAdvice(credential: Credential, all: Credential[]): string | undefined {
  const { kind, id, name, status } = credential;
  if (status === 'ok') return undefined;
  const what = `The ${NAMES[kind]} ${JSON.stringify(name)} (id ${id})`;
  if (status !== 'no_private_key') return `${what} ${ending(credential)}. ${REMEDIES[kind]}`;
  return (
    `${what} has no private key, so nothing can be pushed with it${staying(credential, all)}. ` +
    `PATCH /api/v1/certificates/${id} with pem_private_key, or POST it again with its key.`
  );
}
