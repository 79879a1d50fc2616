import { randomUUID } from 'node:crypto';
import type { Role } from '../../src/jsonapi/context.js';
import {
  certificateAttributes,
  commandAttributes,
  type Fixture,
  type Identifier,
  type Json,
  profileFile,
} from './fixture.js';

/** One request that has to succeed; everything it needs has just been made. */
export interface Call {
  /** With the ids in, below /api/v1, without a slash at its end. */
  path: string;
  body?: Json | undefined;
  form?: FormData;
}

export interface Case {
  /** The least of the roles that may. */
  role: Role;
  status: number;
  prepare(fixture: Fixture): Promise<Call>;
}

interface Kind {
  /** Who may write; everybody reads. */
  role: Role;
  type: string;
  attributes(path: string): Json | Promise<Json>;
  change: Json;
  /** Of rows that belong to a device. */
  ofDevice?: boolean;
  /** Makes one by another way than POST. */
  make?(fixture: Fixture): Promise<number>;
  removable?(fixture: Fixture): Promise<number>;
}

const name = () => `contract ${randomUUID()}`;

function certificates(): Kind {
  return {
    role: 'admin',
    type: 'certificates',
    attributes: (path) => certificateAttributes(path),
    change: { purpose: 'mdm.webcrt' },
    make: (fixture) => fixture.certificate(),
  };
}

function inventory(type: string, attributes: Json, change: Json): Kind {
  return { role: 'operator', type, ofDevice: true, attributes: () => attributes, change };
}

/** One with an account, which it needs to be assigned to devices. */
async function depProfile(fixture: Fixture): Promise<number> {
  const account = await fixture.create('/dep/accounts', 'dep_accounts', { server_name: name() });
  const dep_account = { data: { type: 'dep_accounts', id: account } };
  const attributes = { profile_name: name() };
  return fixture.create('/dep/profiles', 'dep_profiles', attributes, { dep_account });
}

/** By the path of the collection. */
const KINDS: Record<string, Kind> = {
  '/applications': {
    role: 'operator',
    type: 'applications',
    change: { version: '2' },
    attributes: () => ({ display_name: name(), bundle_id: 'com.example.app' }),
  },
  '/available_os_updates': inventory(
    'available_os_updates',
    { product_key: 'key', version: '15.1' },
    { version: '15.2' },
  ),
  '/ca_certificates': certificates(),
  '/certificate_signing_requests': {
    role: 'admin',
    type: 'certificate_signing_requests',
    change: { purpose: 'mdm.encrypt' },
    attributes: () => ({ subject: `CN=${name()}`, purpose: 'mdm.webcrt', key_type: 'EC' }),
  },
  '/certificates': certificates(),
  '/commands': {
    role: 'operator',
    type: 'commands',
    ofDevice: true,
    change: { priority: 5 },
    attributes: commandAttributes,
  },
  '/devices': {
    role: 'operator',
    type: 'devices',
    change: { asset_tag: 'A-1' },
    attributes: () => ({ udid: randomUUID(), serial_number: name() }),
  },
  '/device_groups': {
    role: 'operator',
    type: 'device_groups',
    change: {},
    attributes: () => ({ name: name() }),
  },
  '/installed_applications': inventory(
    'installed_applications',
    { name: 'Notes', bundle_identifier: 'com.apple.Notes' },
    { short_version: '2' },
  ),
  '/installed_certificates': inventory(
    'installed_certificates',
    { x509_cn: 'Device', is_identity: true },
    { is_identity: false },
  ),
  '/installed_profiles': inventory(
    'installed_profiles',
    { payload_identifier: 'com.example.profile' },
    { payload_display_name: 'Renamed' },
  ),
  '/push_certificates': certificates(),
  '/ssl_certificates': certificates(),
  '/rsa_private_keys': {
    role: 'admin',
    type: 'rsa_private_keys',
    change: { name: 'renamed' },
    attributes: () => ({}),
    make: (fixture) => fixture.privateKey(),
    removable: (fixture) => fixture.privateKey(false),
  },
  '/tags': {
    role: 'operator',
    type: 'tags',
    change: { color: '00ff00' },
    attributes: () => ({ name: name() }),
  },
  '/dep/accounts': {
    role: 'admin',
    type: 'dep_accounts',
    change: { server_name: 'Renamed' },
    attributes: () => ({ consumer_key: name(), consumer_secret: 'secret' }),
  },
  '/dep/profiles': {
    role: 'admin',
    type: 'dep_profiles',
    change: { department: 'IT' },
    attributes: () => ({ profile_name: name() }),
    make: depProfile,
  },
};

function kindOf(path: string): Kind {
  const kind = KINDS[path];
  if (kind === undefined) throw new Error(`no kind of resource at ${path}`);
  return kind;
}

async function document(
  kind: Kind,
  path: string,
  fixture: Fixture,
  inDevice = false,
): Promise<Json> {
  const data: Json = { type: kind.type, attributes: await kind.attributes(path) };
  if (kind.ofDevice && !inDevice) {
    data.relationships = { device: { data: { type: 'devices', id: await fixture.device() } } };
  }
  return { data };
}

async function make(path: string, fixture: Fixture): Promise<number> {
  const kind = kindOf(path);
  if (kind.make) return kind.make(fixture);
  const { data } = (await document(kind, path, fixture)) as { data: Json };
  const { attributes, relationships } = data;
  return fixture.create(path, kind.type, attributes as Json, relationships as Json | undefined);
}

function collection(method: string, path: string): Case {
  const kind = kindOf(path);
  if (method === 'GET') return { role: 'viewer', status: 200, prepare: async () => ({ path }) };
  const prepare = async (fixture: Fixture) => ({ path, body: await document(kind, path, fixture) });
  return { role: kind.role, status: 201, prepare };
}

/** Below a device or a group. */
function scoped(method: string, parent: string, child: string): Case {
  const kind = kindOf(`/${child}`);
  const at = async (fixture: Fixture) => `${parent}/${await make(parent, fixture)}/${child}`;
  if (method === 'GET') {
    return {
      role: 'viewer',
      status: 200,
      prepare: async (fixture) => ({ path: await at(fixture) }),
    };
  }
  const prepare = async (fixture: Fixture) => ({
    path: await at(fixture),
    body: await document(kind, `/${child}`, fixture, true),
  });
  return { role: kind.role, status: 201, prepare };
}

function item(method: string, parent: string): Case {
  const kind = kindOf(parent);
  const prepare = async (fixture: Fixture): Promise<Call> => {
    const removable = method === 'DELETE' ? kind.removable : undefined;
    const id = await (removable ? removable(fixture) : make(parent, fixture));
    const path = `${parent}/${id}`;
    const data = { type: kind.type, id, attributes: kind.change };
    return method === 'PATCH' ? { path, body: { data } } : { path };
  };
  const status = method === 'DELETE' ? 204 : 200;
  return { role: method === 'GET' ? 'viewer' : kind.role, status, prepare };
}

/** What stands at the other end; for commands one that was never sent, of another device or this. */
async function related(method: string, fixture: Fixture, place: Place): Promise<Identifier> {
  if (place.name === 'commands') {
    const deviceId = method === 'POST' ? await fixture.device() : place.id;
    return { type: 'commands', id: await fixture.command(deviceId) };
  }
  return { type: place.name, id: await make(`/${place.name}`, fixture) };
}

interface Place {
  id: number;
  name: string;
}

function relationship(method: string, parent: string, end: string): Case {
  const kind = kindOf(parent);
  const prepare = async (fixture: Fixture): Promise<Call> => {
    const id = await make(parent, fixture);
    const path = `${parent}/${id}/relationships/${end}`;
    if (method === 'GET') return { path };
    return { path, body: { data: [await related(method, fixture, { id, name: end })] } };
  };
  return { role: method === 'GET' ? 'viewer' : kind.role, status: 200, prepare };
}

function fixed(path: string, role: Role, body?: Json): Case {
  return { role, status: 200, prepare: async () => ({ path, body }) };
}

const ORGANIZATION = { data: { attributes: { name: 'Contract', payload_prefix: 'com.example' } } };
const SCEP = { data: { attributes: { key_size: 2048 } } };

/** Whatever does not follow from a collection. */
const OTHERS: Record<string, Case> = {
  'GET /configuration/organization': fixed('/configuration/organization', 'viewer'),
  'POST /configuration/organization': fixed('/configuration/organization', 'admin', ORGANIZATION),
  'PATCH /configuration/organization': fixed('/configuration/organization', 'admin', ORGANIZATION),
  'GET /configuration/scep': fixed('/configuration/scep', 'viewer'),
  'POST /configuration/scep': fixed('/configuration/scep', 'admin', SCEP),
  'PATCH /configuration/scep': fixed('/configuration/scep', 'admin', SCEP),
  'GET /organization': fixed('/organization', 'viewer'),
  'POST /upload/profiles': {
    role: 'operator',
    status: 201,
    prepare: async () => ({ path: '/upload/profiles', form: profileFile() }),
  },
  'GET /download/profiles/{profile_id}': {
    role: 'viewer',
    status: 200,
    prepare: async (fixture) => ({ path: `/download/profiles/${await fixture.profile()}` }),
  },
  'GET /download/certificates/{certificate_id}': {
    role: 'viewer',
    status: 200,
    prepare: async (fixture) => ({ path: `/download/certificates/${await fixture.certificate()}` }),
  },
  'GET /rsa_private_keys/{rsa_private_key_id}/download': {
    role: 'admin',
    status: 200,
    prepare: async (fixture) => ({
      path: `/rsa_private_keys/${await fixture.privateKey()}/download`,
    }),
  },
  'GET /devices/{device_id}/clear_passcode': {
    role: 'operator',
    status: 201,
    prepare: async (fixture) => ({
      path: `/devices/${await fixture.enrolledDevice()}/clear_passcode`,
    }),
  },
  'GET /devices/inventory/{device_id}': {
    role: 'operator',
    status: 201,
    prepare: async (fixture) => ({ path: `/devices/inventory/${await fixture.enrolledDevice()}` }),
  },
  'POST /devices/test/{device_id}': {
    role: 'operator',
    status: 201,
    prepare: async (fixture) => ({ path: `/devices/test/${await fixture.enrolledDevice()}` }),
  },
};

/** The case for an operation of the contract; `path` is below /api/v1. */
export function caseOf(method: string, path: string): Case {
  const bare = path.replace(/(.)\/$/, '$1');
  const other = OTHERS[`${method} ${bare}`];
  if (other) return other;
  const [, parent = '', rest = ''] = /^(.+?)(\/\{\w+\}.*)?$/.exec(bare) ?? [];
  const [, end] = /^\/\{\w+\}\/relationships\/(\w+)$/.exec(rest) ?? [];
  if (end !== undefined) return relationship(method, parent, end);
  const [, child] = /^\/\{\w+\}\/(\w+)$/.exec(rest) ?? [];
  if (child !== undefined) return scoped(method, parent, child);
  return rest === '' ? collection(method, parent) : item(method, parent);
}
