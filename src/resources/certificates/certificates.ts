import {
  type AttributeOptions,
  bool,
  each,
  integer,
  json,
  oneOf,
  text,
  textList,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import { defineResource, type View } from '../../jsonapi/definition/definition.js';
import { adminWrites } from '../common.js';
import {
  type CertificateServices,
  createCertificate,
  presentCertificate,
  removeCertificate,
  updateCertificate,
} from './certificate-operations.js';

/** What the server uses a certificate for. */
export const CERTIFICATE_PURPOSES = [
  'mdm.cacert',
  'mdm.pushcert',
  'mdm.webcrt',
  'mdm.device',
  'mdm.encrypt',
  'mdm.vendor',
  'dep.stoken',
  'dep.anchor',
  'dep.supervision',
] as const;

export const purpose = oneOf(CERTIFICATE_PURPOSES, { required: true });

/** Never stored as it came. */
function input(write: 'always' | 'create', max: number) {
  return text({ write, writeOnly: true, derivedFrom: [], max });
}

/** Read from the certificate itself. */
const said: AttributeOptions = { write: 'never', derivedFrom: ['der'] };

/** RFC 5280 5.3.1. */
const REVOCATION_REASONS = [
  'unspecified',
  'keyCompromise',
  'cACompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
  'privilegeWithdrawn',
];

const FORCE =
  'Takes a certificate that is not valid now, a push certificate of another topic than enrolled ' +
  'devices listen to, an ssl certificate for another host than that of PUBLIC_URL, and on a change ' +
  'the key from the last ssl certificate that HTTPS is served with. Audited.';

function view(path: string, value: string): View {
  return { path, attribute: 'purpose', value };
}

export const certificates = defineResource<CertificateServices>({
  type: 'certificates',
  path: '/certificates',
  table: 'certificates',
  alwaysArray: true,
  hexOf: { fingerprint_sha256: 'fingerprint' },
  fewValues: { issuer: '>' },
  views: [
    view('/ca_certificates', 'mdm.cacert'),
    view('/push_certificates', 'mdm.pushcert'),
    view('/ssl_certificates', 'mdm.webcrt'),
  ],
  access: adminWrites,
  attributes: {
    ...each(timestamp({ write: 'never' }), ['not_before', 'not_after']),
    pem_certificate: text({ write: 'create', derivedFrom: ['der'], max: 200_000 }),
    subject: text({ write: 'never' }),
    purpose,
    ...each(text({ write: 'never' }), ['issuer', 'serial']),
    fingerprint_sha256: text({ write: 'never', ignoreCase: true }),
    ...each(text({ write: 'never' }), ['x509_cn', 'push_topic']),
    is_ca: bool({ write: 'never' }),
    ...each(timestamp({ write: 'never' }), ['revoked_at', 'created_at']),
    revocation_reason: oneOf(REVOCATION_REASONS, { write: 'never' }),
    ...each(bool({ write: 'never' }), ['is_own_ca', 'issues_identities']),
    apple_account: text({ min: 1, max: 255 }),
    ...each(textList(said), ['subject_alt_names', 'key_usage', 'extended_key_usage']),
    key_type: oneOf(['RSA', 'EC'], said),
    key_size: integer(said),
    signature_algorithm: text(said),
    chain: json({ write: 'never', derivedFrom: ['chain_der'], heavy: true }),
    pem_private_key: input('always', 50_000),
    pkcs12: input('create', 700_000),
    password: input('always', 1_000),
  },
  relationships: {
    rsa_private_key: {
      kind: 'toOne',
      type: 'rsa_private_keys',
      column: 'rsa_private_key_id',
      write: 'always',
    },
    certificate_signing_request: {
      kind: 'toOne',
      type: 'certificate_signing_requests',
      column: 'signing_request_id',
      write: 'never',
    },
  },
  writeFlags: { force: FORCE },
  operations: {
    create: createCertificate,
    update: updateCertificate,
    delete: removeCertificate,
  },
  derive: presentCertificate,
});
