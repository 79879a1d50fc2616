import { buildPlistNodes, type PlistNode } from '../../../src/protocol/plist/plist.js';
import { findVariables, renderProfile } from '../../../src/protocol/profiles/profile-variables.js';
import { dict, payload, profile } from '../../profiles/sample-profiles.js';

const UUID = '00000000-0000-4000-8000-000000000001';
const VALUES = new Map([
  ['SERIAL', 'C02'],
  ['DEVICE_NAME', `Zoë's <Mac> & "co" 日本 ]]>`],
  ['SECRET_key', '$SERIAL $$'],
]);

function inPayload(value: PlistNode) {
  return profile([payload('com.example.app', { Value: value })]);
}

function found(text: string) {
  const [string] = findVariables(inPayload(text));
  return string === undefined ? undefined : { known: string.known, unknown: string.unknown };
}

function rendered(text: string): PlistNode | undefined {
  const payloads = renderProfile(inPayload(text), { uuid: UUID, values: VALUES }).get(
    'PayloadContent',
  );
  const [first] = payloads as Map<string, PlistNode>[];
  return first?.get('Value');
}

describe('the variables of a profile', () => {
  it.each<[string, string[], string[]]>([
    ['$SERIAL', ['SERIAL'], []],
    [`a\${UDID}b$USER_EMAIL`, ['UDID', 'USER_EMAIL'], []],
    ['$SECRET_wifi_1-$ASSET_TAG', ['SECRET_wifi_1', 'ASSET_TAG'], []],
    [`$SERIALS \${serial} $SECRET_`, [], ['SERIALS', 'serial', 'SECRET_']],
    ['$ATTRIBUTE_room $ATTRIBUTE_', ['ATTRIBUTE_room'], ['ATTRIBUTE_']],
    ['$$SERIAL', [], []],
    ['$$$SERIAL', ['SERIAL'], []],
  ])('in %j are %j, and %j is unknown', (text, known, unknown) => {
    expect(found(text)).toEqual({ known, unknown });
  });

  it.each(['$', '$5', 'a $ b', `\${`, `\${}`, `\${A B}`, '^x$'])('are not seen in %j', (text) => {
    expect(found(text)).toBeUndefined();
  });

  it('are found at any depth, but not in keys or data', () => {
    const nodes = inPayload([
      dict({ $SERIAL: Buffer.from('$SERIAL'), 'a/b': ['x', '$UDID'] }),
      '$DEVICE_NAME',
    ]);
    expect(findVariables(nodes).map(({ pointer, known }) => [pointer, known])).toEqual([
      ['/PayloadContent/0/Value/0/a~1b/1', ['UDID']],
      ['/PayloadContent/0/Value/1', ['DEVICE_NAME']],
    ]);
  });

  it('are marked where they stand in what names the profile or a payload', () => {
    const nodes = profile([payload('$SERIAL', { Deep: dict({ PayloadType: '$SERIAL' }) })], {
      PayloadIdentifier: 'org.$SERIAL',
    });
    expect(findVariables(nodes)).toMatchObject([
      { pointer: '/PayloadIdentifier', isIdentity: true },
      { pointer: '/PayloadContent/0/PayloadType', isIdentity: true },
      { pointer: '/PayloadContent/0/Deep/PayloadType', isIdentity: false },
    ]);
  });
});

describe('a rendered profile', () => {
  it.each<[string, string]>([
    ['$SERIAL', 'C02'],
    [`a\${SERIAL}b`, 'aC02b'],
    ['$DEVICE_NAME', `Zoë's <Mac> & "co" 日本 ]]>`],
    ['$$', '$'],
    ['$$SERIAL $$$SERIAL', '$SERIAL $C02'],
    ['$SECRET_key', '$SERIAL $$'],
    [`$OTHER $5 \${ $`, `$OTHER $5 \${ $`],
    ['$UDID', '$UDID'],
  ])('has for %j %j', (text, expected) => {
    expect(rendered(text)).toBe(expected);
  });

  it('has exactly these bytes: values are escaped, names and data stay', () => {
    const nodes = dict({
      PayloadType: 'Configuration',
      PayloadUUID: 'old',
      PayloadIdentifier: 'org.$SERIAL',
      PayloadContent: [
        dict({
          PayloadUUID: '$SERIAL',
          $SERIAL: dict({ In: ['$DEVICE_NAME', 1n] }),
          Data: Buffer.from('$SERIAL'),
        }),
      ],
    });
    expect(
      buildPlistNodes(renderProfile(nodes, { uuid: UUID, values: VALUES })).toString(),
    ).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>PayloadType</key>
	<string>Configuration</string>
	<key>PayloadUUID</key>
	<string>${UUID}</string>
	<key>PayloadIdentifier</key>
	<string>org.$SERIAL</string>
	<key>PayloadContent</key>
	<array>
		<dict>
			<key>PayloadUUID</key>
			<string>$SERIAL</string>
			<key>$SERIAL</key>
			<dict>
				<key>In</key>
				<array>
					<string>Zoë's &lt;Mac&gt; &amp; "co" 日本 ]]&gt;</string>
					<integer>1</integer>
				</array>
			</dict>
			<key>Data</key>
			<data>JFNFUklBTA==</data>
		</dict>
	</array>
</dict>
</plist>
`);
  });
});
