import { buildPlist } from '../../src/protocol/plist/plist.js';

const NO_UUID = '00000000-0000-0000-0000-000000000000';

/** A configuration profile without secrets, large enough to be shared; another for each label. */
export function plainProfile(label = 'x'): Buffer {
  const common = { PayloadIdentifier: 'com.example.clip', PayloadUUID: 'A', PayloadVersion: 1 };
  const clip = { PayloadType: 'com.apple.webClip.managed', URL: 'https://example.com' };
  const PayloadContent = [{ ...common, ...clip, Label: label, Icon: Buffer.alloc(2_000, 7) }];
  return buildPlist({ ...common, PayloadType: 'Configuration', PayloadContent });
}

/** InstallProfile as it is sent; as it is shared without a UUID. */
export function installProfile(profile: Buffer, uuid = NO_UUID): Buffer {
  const Command = { Payload: profile, RequestType: 'InstallProfile' };
  return buildPlist({ Command, CommandUUID: uuid });
}
