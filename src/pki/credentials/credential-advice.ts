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
    'It issues the identities of devices, and none is valid for longer than it is. Run `muster ca ' +
    'rotate` (or POST /api/v1/ca_certificates/rotate): its successor then issues new identities, ' +
    'and each device moves to it when its identity is renewed.',
  retired:
    'It no longer issues; devices whose identities it issued need new ones before that day: each is ' +
    'renewed automatically, or at once by POST /api/v1/devices/{id}/renew_identity.',
  external:
    'Devices with a certificate of this CA need one of its successor before that day: POST the ' +
    'successor to /api/v1/ca_certificates.',
};

const successor = (purpose: string) =>
  `POST its successor to /api/v1/certificates with purpose ${purpose}.`;

const REMEDIES: Record<
  Exclude<CredentialKind, 'push_certificate' | 'certificate_authority' | 'ssl_certificate'>,
  string
> = {
  dep_token:
    'Apple then refuses every request of this server. Get a new one for the same server at Apple ' +
    'Business Manager or Apple School Manager, and POST it to /dep/stoken/upload.',
  vendor_certificate:
    'Requests for push certificates cannot be signed here once it has expired: get a new ' +
    `one from Apple's developer portal, and ${successor('mdm.vendor')}`,
  encryption_certificate: successor('mdm.encrypt'),
  dep_server_certificate:
    'New tokens are encrypted to it: download another one (GET /dep/certificate/download), upload it ' +
    'to Apple Business Manager or Apple School Manager, and get a new token there.',
  dep_anchor_certificate: `New devices trust this server by it. ${successor('dep.anchor')}`,
  supervision_certificate: `Hosts that have it pair with supervised devices until then. ${successor('dep.supervision')}`,
};

/** Whether it is a former CA of this server that no device depends on: its end needs no notice. */
export function isOfNoUse({ authority, identities }: Credential): boolean {
  return authority === 'retired' && identities === 0;
}

/** When it ends and what to do, whether that is soon or not. */
export function endingAdvice(credential: Credential): string {
  return `${describe(credential)} ${ending(credential)}. ${remedyOf(credential)}`;
}

/** What is or soon will be wrong with a credential, and what to do; undefined while all is well. */
export function credentialAdvice(credential: Credential, all: Credential[]): string | undefined {
  const { id, status } = credential;
  if (status === 'ok' || isOfNoUse(credential)) return undefined;
  if (status === 'not_yet_valid') return beginningAdvice(credential);
  if (status !== 'no_private_key') return endingAdvice(credential);
  return (
    `${describe(credential)} has no private key, so nothing can be pushed with it` +
    `${stillInUse(credential, all)}. PATCH /api/v1/certificates/${id} with pem_private_key, or POST ` +
    'it again with its key.'
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** One warning. */
export interface Advice {
  /** Stable, for programs. */
  code: string;
  /** What is wrong and what to do. */
  detail: string;
}

/** Warnings about a push certificate that can be used. */
export function pushCertificateAdvice(credential: Credential): Advice[] {
  const { isSelfSigned, replaced } = credential;
  return [
    ...(isSelfSigned ? [selfSigned(credential)] : []),
    ...(replaced ? [older(credential, replaced)] : []),
  ];
}

/** `The TLS certificate "mdm.example.com" (id 7)` */
function describe({ kind, id, name }: Credential): string {
  const where = id === null ? 'of TLS_CERT_FILE' : `id ${id}`;
  return `The ${NAMES[kind]} ${JSON.stringify(name)} (${where})`;
}

function ending({ not_after, days_left, status }: Credential): string {
  const day = not_after.toISOString().slice(0, 10);
  if (status === 'expired' || days_left < 0) return `expired on ${day}`;
  return `expires on ${day}, in ${days_left} ${days_left === 1 ? 'day' : 'days'}`;
}

function remedyOf(credential: Credential): string {
  const { kind, source, authority, identities, apple_account } = credential;
  switch (kind) {
    case 'push_certificate':
      return (
        `Renew it at identity.apple.com under the Apple Account ${apple_account ?? 'it was made with'}, ` +
        'so that its topic stays (with another topic every device must enroll anew), and POST it ' +
        'to /api/v1/push_certificates; `muster push-cert request` makes the request for Apple, ' +
        '`muster push-cert import` stores the answer.'
      );
    case 'certificate_authority':
      return dependents(identities) + AUTHORITY_REMEDIES[authority ?? 'external'];
    case 'ssl_certificate':
      return source === 'file'
        ? 'Devices refuse it once it has expired: replace TLS_CERT_FILE and TLS_KEY_FILE.'
        : 'Devices refuse it once it has expired: POST its successor to /api/v1/ssl_certificates.';
    default:
      return REMEDIES[kind];
  }
}

/** A sentence with the number of enrolled devices whose identity the CA issued. */
function dependents(count: number | undefined): string {
  if (count === undefined || count === 0) return '';
  if (count > COUNTED_AT_MOST) return `It issued more than ${COUNTED_AT_MOST} identities in use. `;
  return count === 1 ? 'It issued 1 identity in use. ' : `It issued ${count} identities in use. `;
}

function beginningAdvice(credential: Credential): string {
  return (
    `${describe(credential)} is not valid before ${credential.not_before?.toISOString()}, and of no ` +
    "use until then. If this server's clock is right, replace it with one that is valid now."
  );
}

/** The certificate still in use instead of a push certificate without its key. */
function stillInUse({ kind, topic }: Credential, all: Credential[]): string {
  const sameTopic = all.filter((other) => other.kind === kind && other.topic === topic);
  const used = sameTopic.find(({ status }) => status !== 'no_private_key');
  return used === undefined ? '' : `; id ${used.id}, which ${ending(used)}, stays in use`;
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
