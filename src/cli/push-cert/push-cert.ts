import type { Command } from 'commander';
import { appleAccountFault } from '../../pki/certificates/certificate-origin.js';
import { UsageError } from '../options.js';
import { askHidden } from '../password.js';
import { type PushCertImportOptions, pushCertImport } from './push-cert-import.js';
import { type PushCertRequestOptions, pushCertRequest } from './push-cert-request.js';
import type { OpenPushCert, PushCertIo } from './push-cert-services.js';
import { pushCertStatus } from './push-cert-status.js';

/** If a file goes to standard output, messages go to standard error. */
function processIo({ out }: { out?: string } = {}): PushCertIo {
  const { stdin, stdout, stderr } = process;
  const messages = out === '-' ? stderr : stdout;
  return {
    write: (line) => void messages.write(`${line}\n`),
    writeBytes: (bytes) => void stdout.write(bytes),
    stdin,
    ask: stdin.isTTY ? askHidden : undefined,
  };
}

function account(value: string): string {
  const text = value.trim();
  const fault = appleAccountFault(text);
  if (fault !== undefined) throw new UsageError(`--apple-account ${fault}`);
  return text;
}

function addRequestCommand(group: Command, open: OpenPushCert): void {
  group
    .command('request')
    .description("make a key and a request for Apple's portal, for a new certificate or a renewal")
    .option('--apple-account <account>', 'who signs in at identity.apple.com; recorded', account)
    .option('--vendor-cert <file...>', 'an MDM vendor certificate, its issuer and the root')
    .option('--vendor-key <file>', 'its private key; a PKCS #12 may hold both')
    .option('--vendor-password-file <file>', 'the password of these files; - is standard input')
    .option('--out <file>', 'where to write the request; - is standard output')
    .action((options: PushCertRequestOptions) =>
      pushCertRequest(options, processIo(options), open),
    );
}

function addImportCommand(group: Command, open: OpenPushCert): void {
  group
    .command('import')
    .description('import the certificate that Apple has issued, or that of another server')
    .option('--cert <file...>', 'the certificate, in PEM or DER')
    .option('--key <file>', 'its private key, if the request was not made here')
    .option('--p12 <file>', 'both in one file, PKCS #12')
    .option('--password-file <file>', 'the password of these files; - is standard input')
    .option('--apple-account <account>', 'whose it is, if the request was not made here', account)
    .option('--force', 'import it even with another topic, or expired')
    .action((options: PushCertImportOptions) => pushCertImport(options, processIo(), open));
}

/** Adds `push-cert` with its commands to the program. */
export function addPushCertCommands(program: Command, open: OpenPushCert): void {
  const group = program
    .command('push-cert')
    .description("the certificate that Apple's push service knows this server by");
  group
    .command('status')
    .description('show what there is, and what to do next')
    .action(() => open((services) => pushCertStatus(services, processIo())));
  addRequestCommand(group, open);
  addImportCommand(group, open);
}
