import { adminApi, commandDocument, type TestApp } from '../helpers/app.js';
import {
  commandIn,
  createTestDevice,
  type Fields,
  type Reply,
  type TestDevice,
} from '../helpers/device.js';

const TOKEN = { Token: Buffer.from('a token of a user'), PushMagic: 'magic of a user' };
export const ANNA = { UserID: '8A6C5A51-7C60-4B6E-93A6-0E6B7F9C1D22', UserShortName: 'anna' };
export const BEN = { UserID: '11F0C2A4-2D33-4C55-9E66-77889900AABB', UserShortName: 'ben' };
export const MAC = { ProductName: 'Mac14,2', Model: 'MLY33', ModelName: 'MacBook Air' };

export interface Wanted {
  /** The user; null: the command is the device's own. */
  userId: number | null;
  attributes?: Record<string, unknown>;
}

/** A Mac, enrolled and with nothing to fetch, on which Anna and Ben have logged in. */
export class UserFixture {
  private constructor(
    private readonly app: TestApp,
    readonly device: TestDevice,
    readonly deviceId: number,
  ) {}

  static async create(app: TestApp, ids?: Fields): Promise<UserFixture> {
    const device = await (await createTestDevice(app, ids)).enroll(MAC);
    const { udid } = device;
    const devices = app.db.knex('devices').where({ udid }).orWhere({ enrollment_id: udid });
    const { id } = await devices.first('id');
    await app.db.knex('commands').where({ device_id: id }).delete();
    return new UserFixture(app, device, id);
  }

  /** Returns the id of the user, who is another than all before. */
  async logIn(user: Fields): Promise<number> {
    await this.device.checkIn('TokenUpdate', { ...user, ...TOKEN });
    const users = this.app.db.knex('device_users').where({ device_id: this.deviceId });
    const [{ id }] = await users.orderBy('id', 'desc');
    return id;
  }

  /** Queues a command and returns its uuid. */
  async queue({ userId, attributes = {} }: Wanted): Promise<string> {
    const document = commandDocument(this.deviceId, 'ProfileList', attributes);
    const user = { data: { type: 'device_users', id: userId } };
    if (userId !== null) Object.assign(document.data.relationships, { user });
    const { status, body } = await adminApi(this.app).post('/commands', document);
    expect(status).toBe(201);
    return body.data.attributes.uuid;
  }

  rowOf(uuid: string) {
    return this.app.db.knex('commands').where({ uuid }).first();
  }

  async statusesOf(...uuids: string[]): Promise<string[]> {
    const rows = await Promise.all(uuids.map((uuid) => this.rowOf(uuid)));
    return rows.map(({ status }) => status);
  }
}

/** The CommandUUID that a caller received; undefined for none. */
export function uuidIn(reply: Reply): string | undefined {
  expect(reply.status).toBe(200);
  return commandIn(reply)?.uuid;
}
