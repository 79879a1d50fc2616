import { COUNTED_AT_MOST } from '../../db/push/device-reach.js';
import type { Credential, CredentialKind } from './credential-status.js';

const NAMES: Record<CredentialKind, string> = {
  push_certificate: 'push certificate',
  certificate_authority: 'certificate authority',
  ssl_certificate: 'TLS certificate',
  dep_token: "token of Apple's device enrollment",
  vendor_certificate: 'vendor certificate',
  encryption_certificate: 'encryption certificate',
  dep_server_certificate: "certificate for tokens of Apple's device enrollment",
  dep_anchor_certificate: 'anchor certificate of device enrollment',
  supervision_certificate: 'supervision certificate',
};

const AUTHORITY_REMEDIES: Record<NonNullable<Credential['authority']>, string> = {
  issuing:
    'It issues the identities of devices, and none is good for longer than it is. Run `muster ca ' +
    'rotate` (or POST /api/v1/ca_certificates/rotate): a successor issues from then on, and ' +
    'devices get their identities of it as theirs come to be renewed.',
  retired:
    'It issues no more; devices whose identities it issued need others before that day: each is ' +
    'renewed by itself, or at once by POST /api/v1/devices/{id}/renew_identity.',
  external:
    'Devices with a certificate of it must get one of a successor before that day: POST that to ' +
    '/api/v1/ca_certificates.',
};

const successor = (purpose: string) =>
  `POST its successor to /api/v1/certificates with purpose ${purpose}.`;

const REMEDIES: Record<
  Exclude<CredentialKind, 'push_certificate' | 'certificate_authority' | 'ssl_certificate'>,
  string
> = {
  dep_token:
    'Apple tells this server nothing more then. Get a new one for the same server at Apple Business ' +
    'Manager or Apple School Manager, and POST it to /dep/stoken/upload.',
  vendor_certificate:
    'Requests for push certificates cannot be signed here any more once it has expired: get a new ' +
    `one from Apple's developer portal, and ${successor('mdm.vendor')}`,
  encryption_certificate: successor('mdm.encrypt'),
  dep_server_certificate:
    'New tokens are encrypted to it: download another one (GET /dep/certificate/download), upload it ' +
    'to Apple Business Manager or Apple School Manager, and get a new token there.',
  dep_anchor_certificate: `New devices trust this server by it. ${successor('dep.anchor')}`,
  supervision_certificate: `Hosts that have it pair with supervised devices until then. ${successor('dep.supervision')}`,
};

function remedyOf(credential: Credential): string {
  const { kind, source, authority, identities, apple_account } = credential;
  switch (kind) {
    case 'push_certificate':
      return (
        `Renew it at identity.apple.com under the Apple Account ${apple_account ?? 'it was made with'}, ` +
        'so that its topic stays (with another topic every device must enroll anew), and POST it ' +
        'to /api/v1/push_certificates; `muster push-cert request` makes the request for Apple, ' +
        '`muster push-cert import` takes the answer.'
      );
    case 'certificate_authority':
      return dependents(identities) + AUTHORITY_REMEDIES[authority ?? 'external'];
    case 'ssl_certificate':
      return source === 'file'
        ? 'Devices come no longer once it has expired: replace TLS_CERT_FILE and TLS_KEY_FILE.'
        : 'Devices come no longer once it has expired: POST its successor to /api/v1/ssl_certificates.';
    default:
      return REMEDIES[kind];
  }
}

/** Of devices that go on by an identity of that CA. */
function dependents(count: number | undefined): string {
  if (count === undefined || count === 0) return '';
  if (count > COUNTED_AT_MOST) return `More than ${COUNTED_AT_MOST} identities are of it. `;
  return count === 1 ? '1 identity is of it. ' : `${count} identities are of it. `;
}

/** A former CA of ours that no device depends on any more may end as it likes. */
export function isOfNoUse({ authority, identities }: Credential): boolean {
  return authority === 'retired' && identities === 0;
}

/** `The TLS certificate "mdm.example.com" (id 7)` */
function named({ kind, id, name }: Credential): string {
  const where = id === null ? 'of TLS_CERT_FILE' : `id ${id}`;
  return `The ${NAMES[kind]} ${JSON.stringify(name)} (${where})`;
}

function ending({ not_after, days_left, status }: Credential): string {
  const day = not_after.toISOString().slice(0, 10);
  if (status === 'expired' || days_left < 0) return `expired on ${day}`;
  return `expires on ${day}, in ${days_left} ${days_left === 1 ? 'day' : 'days'}`;
}

/** The one that a push certificate without its key was to replace. */
function staying({ kind, topic }: Credential, all: Credential[]): string {
  const rivals = all.filter((other) => other.kind === kind && other.topic === topic);
  const used = rivals.find(({ status }) => status !== 'no_private_key');
  return used === undefined ? '' : `; id ${used.id}, which ${ending(used)}, stays in its place`;
}

/** When it ends and what to do, whether that is soon or not. */
export function endingAdvice(credential: Credential): string {
  return `${named(credential)} ${ending(credential)}. ${remedyOf(credential)}`;
}

function beginningAdvice(credential: Credential): string {
  return (
    `${named(credential)} is not valid before ${credential.not_before?.toISOString()}, and until ` +
    "then of no use. If this server's clock is right, put one in its place that is valid now."
  );
}

/** What is wrong with one of them, now or soon, and what to do; undefined while all is well. */
export function credentialAdvice(credential: Credential, all: Credential[]): string | undefined {
  const { id, status } = credential;
  if (status === 'ok' || isOfNoUse(credential)) return undefined;
  if (status === 'not_yet_valid') return beginningAdvice(credential);
  if (status !== 'no_private_key') return endingAdvice(credential);
  return (
    `${named(credential)} has no private key, so nothing can be pushed with it` +
    `${staying(credential, all)}. PATCH /api/v1/certificates/${id} with pem_private_key, or POST ` +
    'it again with its key.'
  );
}

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
