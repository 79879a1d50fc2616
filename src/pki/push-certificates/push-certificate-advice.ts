import type { Credential } from '../credentials/credential-status.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** What is wrong and what to do. */
export interface Advice {
  /** Stable. */
  code: string;
  /** For people. */
  detail: string;
}

function selfSigned({ id, topic }: Credential): Advice {
  const detail =
    `The push certificate in use for ${topic} (id ${id}) is signed by itself, not issued by Apple, ` +
    'whose push service will refuse it. Get one at identity.apple.com and POST it to ' +
    '/api/v1/push_certificates.';
  return { code: 'push_certificate_self_signed', detail };
}

function older(
  { id, topic, not_after: end }: Credential,
  replaced: NonNullable<Credential['replaced']>,
): Advice {
  const days = Math.round((replaced.not_after.getTime() - end.getTime()) / DAY_MS);
  const detail =
    `The push certificate in use for ${topic} (id ${id}) ends ${days} ${days === 1 ? 'day' : 'days'} ` +
    `earlier than the one that it replaced (id ${replaced.id}). If an older one was added by ` +
    `mistake, DELETE /api/v1/certificates/${id} or revoke it: id ${replaced.id} is in use again then.`;
  return { code: 'push_certificate_older', detail };
}

/** What is odd about a push certificate, though it can be used. */
export function pushCertificateAdvice(credential: Credential): Advice[] {
  const { isSelfSigned, replaced } = credential;
  return [
    ...(isSelfSigned ? [selfSigned(credential)] : []),
    ...(replaced ? [older(credential, replaced)] : []),
  ];
}
