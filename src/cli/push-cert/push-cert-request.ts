import { writeFile } from 'node:fs/promises';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { AppError } from '../../errors.js';
import { createdWith } from '../../events/audit.js';
import { NoVendorCertificate } from '../../pki/push-certificates/push-request-service.js';
import { storeVendorCertificate } from '../../pki/push-certificates/push-request-vendor.js';
import { auditCli } from '../audit-cli.js';
import { type CredentialPem, readCredentialFiles } from '../keys/credential-file.js';
import { UsageError } from '../options.js';
import { PasswordPrompt } from '../password.js';
import { portalSteps, rethrowAsCommands, unsignedSteps } from './push-cert-advice.js';
import {
  type OpenPushCert,
  type PushCertIo,
  type PushCertKnown,
  type PushCertServices,
  readKnown,
} from './push-cert-services.js';

export interface PushCertRequestOptions {
  appleAccount?: string;
  vendorCert?: string[];
  vendorKey?: string;
  vendorPasswordFile?: string;
  /** `-` for standard output. */
  out?: string;
}

interface Made {
  id: number;
  bytes: Buffer;
  name: string;
  /** Why no vendor signed it. */
  unsigned?: string;
}

const TYPE = 'certificate_signing_requests';
const MAX_COMMON_NAME_LENGTH = 64;

/** Makes a key and a request for a push certificate, signed for Apple's portal if a vendor certificate exists. */
export async function pushCertRequest(
  options: PushCertRequestOptions,
  io: PushCertIo,
  open: OpenPushCert,
): Promise<void> {
  const vendor = await readVendor(options, io);
  await open(async (services) => {
    const known = await readKnown(services.db, options.appleAccount);
    const { account } = known;
    if (account === null) {
      throw new UsageError(
        '--apple-account is missing: the address you sign in with at identity.apple.com. To renew ' +
          'the certificate in a year the same account is needed',
      );
    }
    const made = await inTransaction(services.db, async (trx) => {
      const vendorId = vendor && (await keepVendor(trx, services, vendor));
      const request = await makeRequest(trx, services, { account, vendorId });
      await save(request, options.out, io);
      return request;
    });
    printNextSteps({ made, known, out: options.out ?? made.name }, io);
  });
}

async function readVendor(
  { vendorCert = [], vendorKey, vendorPasswordFile }: PushCertRequestOptions,
  io: PushCertIo,
): Promise<CredentialPem | undefined> {
  const files = vendorKey === undefined ? vendorCert : [...vendorCert, vendorKey];
  if (files.length === 0) return undefined;
  const option = { name: '--vendor-password-file', file: vendorPasswordFile };
  const parts = await readCredentialFiles(files, new PasswordPrompt(option, io));
  if (parts.pem_certificate !== undefined) return parts;
  throw new UsageError('the vendor certificate is missing: add it by --vendor-cert');
}

async function keepVendor(
  trx: Transaction,
  { certificates, requests }: PushCertServices,
  parts: CredentialPem,
): Promise<number> {
  const kept = storeVendorCertificate(trx, certificates, parts).catch(rethrowAsCommands);
  const { id, isNew } = await kept;
  const action = isNew ? 'certificates.create' : 'certificates.update';
  const changes = createdWith({
    purpose: 'mdm.vendor',
    pem_certificate: parts.pem_certificate,
  });
  if (parts.pem_private_key !== undefined) changes.pem_private_key = 'changed';
  await auditCli(trx, { action, target: ['certificates', id], values: { changes } });
  const fault = await requests.vendorFault(trx, id);
  if (fault === undefined) return id;
  const message = `the vendor certificate can't sign: ${fault}. Nothing was changed`;
  throw new AppError('no_vendor_certificate', 409, message);
}

async function makeRequest(
  trx: Transaction,
  services: PushCertServices,
  { account, vendorId }: { account: string; vendorId: number | undefined },
): Promise<Made> {
  const request = {
    purpose: 'mdm.pushcert' as const,
    subject: subjectOf(services.publicUrl),
    key_type: 'RSA' as const,
    key_size: 2048,
    apple_account: account,
  };
  const id = await services.signingRequests.add(trx, request);
  const values = { changes: createdWith(request) };
  await auditCli(trx, { action: `${TYPE}.create`, target: [TYPE, id], values });
  try {
    return { id, ...(await services.requests.file(trx, id)) };
  } catch (error) {
    if (!(error instanceof NoVendorCertificate) || vendorId !== undefined) throw error;
    const bytes = Buffer.from(await services.requests.bare(trx, id));
    return { id, bytes, name: 'push-certificate-request.csr', unsigned: error.reason };
  }
}

/** Only people read it: Apple does not copy it into the certificate. */
function subjectOf(publicUrl: string): string {
  const { hostname } = new URL(publicUrl);
  return `CN=${`MDM push ${hostname}`.slice(0, MAX_COMMON_NAME_LENGTH)}`;
}

/** Runs before the commit, so that a request that cannot be written is not stored. */
async function save(made: Made, out: string | undefined, io: PushCertIo): Promise<void> {
  if (out === '-') {
    io.writeBytes(made.bytes);
    return;
  }
  const file = out ?? made.name;
  await writeFile(file, made.bytes).catch((cause: Error) => {
    const message = `${file} cannot be written (${cause.message})`;
    throw new AppError('bad_request', 400, message, { cause });
  });
}

interface Result {
  made: Made;
  known: PushCertKnown;
  out: string;
}

function printNextSteps({ made, known, out }: Result, { write }: PushCertIo): void {
  const file = out === '-' ? 'the output' : out;
  write(`Request ${made.id} made. Its private key stays here, sealed.`);
  if (out !== '-') write(`Written: ${out}`);
  for (const line of known.warnings) write(line);
  const steps =
    made.unsigned === undefined
      ? portalSteps(known, file)
      : unsignedSteps(known, { file, reason: made.unsigned });
  for (const line of ['', ...steps]) write(line);
}
