import type { TransferListItem } from 'node:worker_threads';
import { installCommand } from '../commands/payload.js';
import { type Reader, resultText } from '../commands/present-command.js';
import { renderTemplate, type TemplateToRender } from '../commands/rendered-profile.js';
import { readContentParts } from '../commands/reports/report-content.js';
import { parseCertificate } from '../crypto/x509/certificate.js';
import { readMessage } from '../mdm/device-message.js';
import { checkProfileFile } from '../profiles/check-file.js';
import { diffProfiles } from '../profiles/profile-diff.js';
import { joinProfile } from '../profiles/profile-rebuild.js';
import { parseStatusReport } from '../protocol/mdm/declarative-management.js';
import { ownMemory, type SentError } from './thread-values.js';

interface ProfileInput {
  bytes: Uint8Array;
  strict: boolean;
  anchors: Uint8Array[];
}

/** A stored profile as it arrives in a thread. */
interface PartBytes {
  topLevel: Uint8Array;
  payloads: Uint8Array[];
}

type RenderValues = Omit<TemplateToRender, 'plist'>;

interface Done<T> {
  output: T;
  /** Memory that is transferred back instead of copied. */
  transfer: readonly TransferListItem[];
}

function done<T>(output: T, transfer: readonly TransferListItem[] = []): Done<T> {
  return { output, transfer };
}

/** The tasks of threads. Inputs and outputs are copied; Buffers arrive as byte arrays. */
export const TASKS = {
  readMessage(bytes: Uint8Array) {
    const raw = ownMemory(asBuffer(bytes));
    return done(readMessage(raw), [raw.buffer]);
  },
  readStatusReport(data: Uint8Array) {
    return done(parseStatusReport(asBuffer(data)));
  },
  presentResult({ bytes, role }: { bytes: Uint8Array; role: Reader['role'] }) {
    return done(resultText(asBuffer(bytes), { role }));
  },
  checkProfile({ bytes, strict, anchors }: ProfileInput) {
    const certificates = anchors.map((der) => parseCertificate(asBuffer(der)));
    return done(checkProfileFile(asBuffer(bytes), { strict, anchors: certificates }));
  },
  joinProfile({ uuid, ...parts }: PartBytes & { uuid?: string | undefined }) {
    return done(joinProfile({ ...asParts(parts), uuid }));
  },
  renderProfile({ plist, ...others }: { plist: Uint8Array } & RenderValues) {
    const rendered = ownMemory(renderTemplate({ plist: asBuffer(plist), ...others }));
    return done(rendered, [rendered.buffer]);
  },
  diffProfiles({ from, to }: { from: PartBytes; to: PartBytes }) {
    return done(diffProfiles(asParts(from), asParts(to)));
  },
  installCommand({ uuid, profile }: { uuid: string; profile: Uint8Array }) {
    const plist = ownMemory(installCommand(uuid, asBuffer(profile)));
    return done(plist, [plist.buffer]);
  },
  readReport({ requestType, bytes }: { requestType: string; bytes: Uint8Array }) {
    return done(readContentParts(requestType, asBuffer(bytes)));
  },
};

export type TaskName = keyof typeof TASKS;
export type TaskInput<Name extends TaskName> = Parameters<(typeof TASKS)[Name]>[0];
export type TaskOutput<Name extends TaskName> = ReturnType<(typeof TASKS)[Name]>['output'];

export interface ToThread {
  name: TaskName;
  input: unknown;
}

export type FromThread =
  | { output: unknown; ms: number; error?: undefined }
  | { error: SentError; ms: number };

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function asParts({ topLevel, payloads }: PartBytes) {
  return { topLevel: asBuffer(topLevel), payloads: payloads.map(asBuffer) };
}
