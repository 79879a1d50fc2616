import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { ProfileValues } from '../db/device-path/report-exchange.js';
import { buildPlistNodes, type PlistNodeDict, parsePlistNodes } from '../protocol/plist/plist.js';
import { renderProfile } from '../protocol/profiles/profile-variables.js';
import { installCommand, openShared, profileIn } from './payload.js';

/** Rendering a longer one could hold up the event loop for more than 10 ms. */
const MAX_BYTES_AT_ONCE = 64 * 1024;
/** The template was within its own limits when it was uploaded. */
const LIMITS = { maxBytes: 256 * 1024 * 1024, maxNodes: 1_000_000, maxReferences: 10_000_000 };

/** The plist of a shared InstallProfile, and what is written into its profile. */
export interface TemplateToRender {
  plist: Buffer;
  uuid: string;
  values: [name: string, value: string][];
}

export interface ProfileRendererDeps {
  box: SecretBox;
  /** Signs a profile; returns it unchanged if there is no certificate. */
  sign: (profile: Buffer) => Promise<Buffer>;
  /** Renders a large profile in another thread, which takes the memory of the plist. */
  renderInThread: (profile: TemplateToRender) => Promise<Buffer>;
  /** Builds the command of a large profile in another thread, which takes the profile's memory. */
  buildInThread: (command: { uuid: string; profile: Buffer }) => Promise<Buffer>;
}

/** A command whose profile is rendered for its device. */
export interface CommandToRender {
  uuid: string;
  /** The body that it shares with others. */
  payload: Buffer;
  values: ProfileValues;
}

/** Builds the profile that a command installs from the template that all devices share. */
export class ProfileRenderer {
  readonly #deps: ProfileRendererDeps;
  /** Parsed templates, as long as the device path keeps their bytes. */
  readonly #templates = new WeakMap<Buffer, PlistNodeDict>();

  constructor(deps: ProfileRendererDeps) {
    this.#deps = deps;
  }

  /** The plist for the device. AppError when a value does not fit into a property list. */
  async render({ uuid, payload, values }: CommandToRender): Promise<Buffer> {
    const { box, sign, buildInThread } = this.#deps;
    const texts = openValues(box, values);
    const profile = await sign(await this.#profile(payload, { uuid: values.uuid, texts }));
    const isLarge = profile.length > MAX_BYTES_AT_ONCE;
    return isLarge ? buildInThread({ uuid, profile }) : installCommand(uuid, profile);
  }

  async #profile(
    payload: Buffer,
    { uuid, texts }: { uuid: string; texts: [string, string][] },
  ): Promise<Buffer> {
    const { box, renderInThread } = this.#deps;
    if (payload.length > MAX_BYTES_AT_ONCE) {
      return renderInThread({ plist: openShared(box, payload), uuid, values: texts });
    }
    let template = this.#templates.get(payload);
    if (template === undefined) {
      template = readNodes(openShared(box, payload));
      this.#templates.set(payload, template);
    }
    return buildPlistNodes(renderProfile(template, { uuid, values: new Map(texts) }));
  }
}

/** The whole profile, for a thread. */
export function renderTemplate({ plist, uuid, values }: TemplateToRender): Buffer {
  return buildPlistNodes(renderProfile(readNodes(plist), { uuid, values: new Map(values) }));
}

/** The variables whose secret was deleted or changed since the command was queued. */
export function staleSecrets({ values, secrets }: ProfileValues): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (typeof value === 'string') return [];
    const [id, version] = value;
    return secrets?.[id]?.[0] === version ? [] : [`$${name}`];
  });
}

function openValues(box: SecretBox, { values, secrets }: ProfileValues): [string, string][] {
  return Object.entries(values).map(([name, value]) => {
    if (typeof value === 'string') return [name, value];
    const [id] = value;
    const sealed = Buffer.from(secrets?.[id]?.[1] ?? '', 'base64');
    return [name, box.open(sealed, `profile_secrets/${id}`).toString('utf8')];
  });
}

function readNodes(plist: Buffer): PlistNodeDict {
  const nodes = parsePlistNodes(profileIn(plist), LIMITS);
  if (!(nodes instanceof Map)) throw new Error('a stored profile is no dictionary');
  return nodes;
}
