import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { type DepDevice, kindName, kindOf } from './dep-device.js';
import {
  type MdmServer,
  OperationLog,
  type OperationType,
  type ProfileDefinition,
} from './mdm-server.js';
import type { Organization } from './organization.js';

/** A restart drops older operations; cursors from before them have expired then. */
const MAX_OPERATIONS = 20_000;

const status = z.enum(['empty', 'assigned', 'pushed', 'removed']);

const device = z.object({
  serial: z.string(),
  kind: z.string().refine((name) => kindOf(name) !== undefined),
  assignedAt: z.number(),
  profile: z.string().optional(),
  status,
  profileAssignedAt: z.number(),
  profilePushedAt: z.number(),
  isGone: z.boolean(),
  isLocked: z.boolean(),
});

const operation = z.tuple([z.enum(['added', 'modified', 'deleted']), z.int().min(0), z.number()]);

const server = z.object({
  name: z.string(),
  tokenIssuedAt: z.number(),
  made: z.int().min(0),
  cursorEpoch: z.int(),
  profiles: z.array(z.tuple([z.string(), z.record(z.string(), z.unknown())])),
  devices: z.array(device),
  firstOperation: z.int().min(0),
  operations: z.array(operation),
});

const snapshot = z.object({
  version: z.literal(1),
  /** Fingerprint of the lab's CA; the state of another lab is ignored, since its tokens are not ours. */
  lab: z.string(),
  stateId: z.string(),
  areTermsSigned: z.boolean(),
  servers: z.array(server),
});

export type DepSnapshot = z.infer<typeof snapshot>;

/** undefined unless a lab with that CA has written it. */
export function readSnapshot(text: string, lab: string): DepSnapshot | undefined {
  try {
    const { data } = snapshot.safeParse(JSON.parse(text));
    return data?.lab === lab ? data : undefined;
  } catch {
    return undefined;
  }
}

export function writeSnapshot(organization: Organization, lab: string): string {
  const { stateId, areTermsSigned, servers } = organization;
  const content: DepSnapshot = {
    version: 1,
    lab,
    stateId,
    areTermsSigned,
    servers: servers.map(serverSnapshot),
  };
  return JSON.stringify(content);
}

export function restoreOrganization(organization: Organization, saved: DepSnapshot): void {
  organization.areTermsSigned = saved.areTermsSigned;
  for (const one of saved.servers) restoreServer(organization, one);
}

function serverSnapshot(of: MdmServer): DepSnapshot['servers'][number] {
  const { name, tokenIssuedAt, made, cursorEpoch, log } = of;
  const places = new Map(of.devices.map((one, place) => [one, place]));
  const firstOperation = Math.max(log.first, log.end - MAX_OPERATIONS);
  const operations = log
    .from(firstOperation, MAX_OPERATIONS)
    .map(({ type, device: one, at }): [OperationType, number, number] => {
      return [type, places.get(one) ?? 0, at];
    });
  return {
    name,
    tokenIssuedAt,
    made,
    cursorEpoch,
    firstOperation,
    operations,
    profiles: [...of.profiles].map(([uuid, definition]) => [uuid, { ...definition }]),
    devices: of.devices.map(({ kind, ...one }) => ({ ...one, kind: kindName(kind) })),
  };
}

function restoreServer(organization: Organization, saved: DepSnapshot['servers'][number]): void {
  const { name, tokenIssuedAt, made, cursorEpoch, firstOperation } = saved;
  const into = organization.emptyServer(name);
  Object.assign(into, { tokenIssuedAt, made, cursorEpoch });
  for (const [uuid, definition] of saved.profiles) {
    into.profiles.set(uuid, definition satisfies ProfileDefinition);
  }
  const devices = restoreDevices(saved);
  for (const one of devices) into.restore(one);
  const operations = saved.operations.flatMap(([type, place, at]) => {
    const one = devices[place];
    return one === undefined ? [] : [{ type, device: one, at }];
  });
  into.log = new OperationLog(firstOperation, operations);
}

function restoreDevices(saved: DepSnapshot['servers'][number]): DepDevice[] {
  return saved.devices.flatMap(({ kind: name, ...one }) => {
    const kind = kindOf(name);
    return kind === undefined ? [] : [{ ...one, kind, profile: one.profile }];
  });
}

/** Stores the state across restarts. */
export interface SnapshotStore {
  /** undefined if nothing is stored. */
  load(): Promise<string | undefined>;
  save(text: string): Promise<void>;
  /** Called with the reason why the state is not stored or loaded. */
  onFailure(message: string, error?: unknown): void;
}

interface SnapshotKeeperOptions {
  store: SnapshotStore;
  /** undefined: the state is too large to be stored. */
  write(): string | undefined;
  delayMs?: number;
}

const DELAY_MS = 1_000;

/** Writes changes after a short delay, all changes of that time at once. */
export class SnapshotKeeper {
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor(private readonly options: SnapshotKeeperOptions) {}

  changed(): void {
    const { delayMs = DELAY_MS } = this.options;
    this.#timer ??= setTimeout(() => this.#saveNow(), delayMs).unref();
  }

  /** Writes pending changes now. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#saveNow();
    await this.#saving;
  }

  #saveNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#saving = this.#saving.then(() => this.#save());
  }

  async #save(): Promise<void> {
    const { store, write } = this.options;
    const text = write();
    if (text === undefined) {
      this.#report('the state of the DEP stand-in is too large to be stored: a restart loses it');
      return;
    }
    try {
      await store.save(text);
      this.#hasFailed = false;
    } catch (error) {
      this.#report('the state of the DEP stand-in could not be written', error);
    }
  }

  /** Reports once, until writing works again. */
  #report(message: string, error?: unknown): void {
    if (!this.#hasFailed) this.options.store.onFailure(message, error);
    this.#hasFailed = true;
  }
}

/** Stores the state in a file, replaced atomically; an unreadable file counts as missing. */
export function createSnapshotFile(
  file: string,
  onFailure: SnapshotStore['onFailure'],
): SnapshotStore {
  return {
    load: async () => {
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if (!isMissing(error))
          onFailure(`${file} could not be read: the lab starts with a new state`, error);
        return undefined;
      }
    },
    save: async (text) => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    onFailure,
  };
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
