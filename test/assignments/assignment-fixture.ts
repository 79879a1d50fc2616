import { randomUUID } from 'node:crypto';
import { ProfilePayloads } from '../../src/assignments/profile-payloads.js';
import { Reconciler } from '../../src/assignments/reconciler.js';
import { CommandQueue } from '../../src/commands/queue.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { ProfileRebuild } from '../../src/profiles/profile-rebuild.js';
import { type PlistDict, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { uploadNodes } from '../api/profile-samples.js';
import type { TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';
import { capturingLogger } from '../http/log-lines.js';
import { type Members, payload, profile } from '../profiles/sample-profiles.js';

/** As the app has it; it runs when a test says so. */
export function reconcilerOf(
  { db, box }: Pick<TestApp, 'db' | 'box'>,
  { credentialsPerMinute = 300, maxRemovals = 20, logger = capturingLogger().logger } = {},
): Reconciler {
  const profiles = new ProfileRebuild({ box, sign: () => undefined });
  const payloads = new ProfilePayloads({ box, logger, profiles, sign: (file) => file });
  const queue = new CommandQueue(box);
  return new Reconciler({ db, logger, payloads, queue, credentialsPerMinute, maxRemovals });
}

/** How a device answers one command. */
export type Answer = (command: PlistDict) => { status: string; fields?: Fields } | undefined;

/** A device that keeps the profiles it is sent, and answers ProfileList with them. */
export class ManagedDevice {
  /** PayloadIdentifier to the profile. */
  readonly profiles = new Map<string, PlistDict>();
  /** Request types in the order in which they came, but for the inventory. */
  readonly carriedOut: string[] = [];

  private constructor(
    readonly wire: TestDevice,
    readonly id: number,
    /** What messages of the channel of a user have besides; nothing on the device's own. */
    private readonly channel: Fields = {},
  ) {}

  static async enroll(app: TestApp, facts: Fields = {}): Promise<ManagedDevice> {
    const wire = await (await createTestDevice(app)).enroll(facts);
    const row = await app.db
      .knex('devices')
      .whereRaw('lower(udid) = lower(?)', wire.udid)
      .first('id');
    return new ManagedDevice(wire, row.id);
  }

  /** One of its users on the user channel, from the TokenUpdate on. */
  async signIn(UserID: string): Promise<ManagedDevice> {
    const token = { Token: Buffer.from(UserID), PushMagic: UserID };
    await this.wire.checkIn('TokenUpdate', { UserID, UserShortName: UserID, ...token });
    return new ManagedDevice(this.wire, this.id, { UserID });
  }

  /** Carries out what is offered until nothing is. */
  async poll(answer: Answer = () => undefined): Promise<string[]> {
    const types: string[] = [];
    let offered = commandIn(await this.wire.idle(this.channel));
    while (offered !== undefined) {
      const { command, uuid } = offered;
      types.push(String(command.RequestType));
      const { status, fields } = answer(command) ?? this.#carryOut(command);
      const message = { ...this.channel, ...fields };
      offered = commandIn(await this.wire.report(uuid, status, message));
    }
    this.carriedOut.push(...types);
    return types;
  }

  #carryOut(command: PlistDict): { status: string; fields?: Fields } {
    const { RequestType: type } = command;
    if (type === 'InstallProfile') {
      const content = parsePlistDict(command.Payload as Buffer);
      this.profiles.set(String(content.PayloadIdentifier).toLowerCase(), content);
    }
    if (type === 'RemoveProfile') {
      const isGone = this.profiles.delete(String(command.Identifier).toLowerCase());
      if (!isGone) return failed('The profile is not installed.');
    }
    return type === 'ProfileList'
      ? { status: 'Acknowledged', fields: { ProfileList: this.#list() } }
      : { status: 'Acknowledged' };
  }

  #list(): Fields[] {
    return [...this.profiles.values()].map(({ PayloadIdentifier, PayloadUUID }) => {
      return { PayloadIdentifier, PayloadUUID, IsManaged: true } as Fields;
    });
  }
}

export function failed(LocalizedDescription: string): { status: string; fields: Fields } {
  return { status: 'Error', fields: { ErrorChain: [{ LocalizedDescription, ErrorCode: 1 }] } };
}

/** Uploads a profile. Returns its id and identifier. */
export async function addProfile(app: TestApp, members: Members = {}, ssid = 'Office') {
  const wifi = payload('com.apple.wifi.managed', { SSID_STR: ssid, EncryptionType: 'None' });
  const uploaded = await uploadNodes(app, profile([wifi], members));
  if (uploaded.status !== 201) throw new Error(`the upload answered ${uploaded.status}`);
  const { id, attributes } = uploaded.body.data;
  return { id: Number(id), identifier: String(attributes.identifier) };
}

export async function addTag(app: TestApp, ...devices: ManagedDevice[]): Promise<number> {
  const [{ id }] = await app.db.knex('tags').insert({ name: randomUUID() }, 'id');
  for (const device of devices) {
    await app.db.knex('device_tags').insert({ device_id: device.id, tag_id: id });
  }
  return id;
}

/** What is stored of the items of a device, by state and reason. */
export async function itemsOf({ db }: TestApp, { id }: ManagedDevice) {
  return await db
    .knex('device_items')
    .where({ device_id: id })
    .orderBy('profile_id')
    .select('profile_id', 'state', 'reason_code', 'version');
}

/** Has the device asked for its profiles. */
export async function listProfiles({ db, box }: TestApp, { id }: ManagedDevice): Promise<void> {
  await inTransaction(db, (trx) => new CommandQueue(box).queueProfileLists(trx, [id]));
}
