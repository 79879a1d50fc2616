import { randomUUID } from 'node:crypto';
import {
  buildPlistNodes,
  type PlistNode,
  type PlistNodeDict,
} from '../../src/protocol/plist/plist.js';

export type Members = Record<string, PlistNode>;

export function dict(members: Members): PlistNodeDict {
  return new Map(Object.entries(members));
}

let count = 0;

/** A payload that is right but for what the members change. */
export function payload(type: string, members: Members = {}): PlistNodeDict {
  count += 1;
  return dict({
    PayloadType: type,
    PayloadVersion: 1n,
    PayloadIdentifier: `com.example.payload.${count}`,
    PayloadUUID: randomUUID(),
    ...members,
  });
}

/** A profile that is right but for what the members change. */
export function profile(payloads: PlistNode[], members: Members = {}): PlistNodeDict {
  count += 1;
  return dict({
    PayloadType: 'Configuration',
    PayloadVersion: 1n,
    PayloadIdentifier: `com.example.profile.${count}`,
    PayloadUUID: randomUUID(),
    PayloadContent: payloads,
    ...members,
  });
}

export function profileBytes(payloads: PlistNode[], members: Members = {}): Buffer {
  return buildPlistNodes(profile(payloads, members));
}

const UUID = '6D4B1C2A-7F0E-4D57-9C55-0A8E1D2F3B4C';

/** As administrators write them, for iOS and macOS. */
export const REALISTIC: [name: string, type: string, members: Members][] = [
  [
    'WPA2 with a password',
    'com.apple.wifi.managed',
    {
      SSID_STR: 'Office',
      EncryptionType: 'WPA2',
      Password: 'secret',
      AutoJoin: true,
      HIDDEN_NETWORK: false,
      ProxyType: 'None',
    },
  ],
  [
    'EAP-TLS',
    'com.apple.wifi.managed',
    {
      SSID_STR: 'Office',
      EncryptionType: 'WPA3',
      PayloadCertificateUUID: UUID,
      EAPClientConfiguration: dict({
        AcceptEAPTypes: [13n],
        TLSTrustedServerNames: ['radius.example.com'],
        PayloadCertificateAnchorUUID: [UUID],
        TLSMinimumVersion: '1.2',
      }),
    },
  ],
  [
    'Passpoint',
    'com.apple.wifi.managed',
    {
      IsHotspot: true,
      DomainName: 'example.com',
      RoamingConsortiumOIs: ['5A03BA0000'],
      EncryptionType: 'WPA2',
      NAIRealmNames: ['example.com'],
    },
  ],
  [
    'restrictions',
    'com.apple.applicationaccess',
    {
      allowCamera: false,
      forceEncryptedBackup: true,
      ratingRegion: 'us',
      ratingApps: 1000n,
      enforcedSoftwareUpdateDelay: 30n,
      blockedAppBundleIDs: ['com.example.game'],
    },
  ],
  [
    'a passcode policy',
    'com.apple.mobiledevice.passwordpolicy',
    {
      forcePIN: true,
      minLength: 8n,
      maxFailedAttempts: 6n,
      maxPINAgeInDays: 90n,
      allowSimple: false,
    },
  ],
  [
    'IKEv2 with a certificate',
    'com.apple.vpn.managed',
    {
      UserDefinedName: 'Work',
      VPNType: 'IKEv2',
      IKEv2: dict({
        RemoteAddress: 'vpn.example.com',
        RemoteIdentifier: 'vpn.example.com',
        LocalIdentifier: 'ada',
        AuthenticationMethod: 'Certificate',
        PayloadCertificateUUID: UUID,
        ExtendedAuthEnabled: 0n,
        IKESecurityAssociationParameters: dict({
          EncryptionAlgorithm: 'AES-256-GCM',
          IntegrityAlgorithm: 'SHA2-384',
          DiffieHellmanGroup: 20n,
          LifeTimeInMinutes: 1440n,
        }),
      }),
      OnDemandEnabled: 1n,
    },
  ],
  [
    'L2TP',
    'com.apple.vpn.managed',
    {
      UserDefinedName: 'Old',
      VPNType: 'L2TP',
      PPP: dict({ CommRemoteAddress: 'vpn.example.com', AuthName: 'ada', TokenCard: false }),
      IPSec: dict({ AuthenticationMethod: 'SharedSecret', SharedSecret: Buffer.from('psk') }),
      IPv4: dict({ OverridePrimary: 1n }),
    },
  ],
  [
    'a PKCS #12 identity',
    'com.apple.security.pkcs12',
    { PayloadContent: Buffer.from('0'), PayloadCertificateFileName: 'ada.p12', Password: 'x' },
  ],
  [
    'a root certificate',
    'com.apple.security.root',
    { PayloadContent: Buffer.from('0'), PayloadCertificateFileName: 'root.cer' },
  ],
  [
    'SCEP',
    'com.apple.security.scep',
    {
      PayloadContent: dict({
        URL: 'https://scep.example.com',
        Challenge: 'x',
        Keysize: 2048n,
        'Key Type': 'RSA',
        'Key Usage': 5n,
        Subject: [[['CN', 'ada']]],
        Retries: 3n,
        RetryDelay: 10n,
      }),
    },
  ],
  [
    'an IMAP account',
    'com.apple.mail.managed',
    {
      EmailAccountType: 'EmailTypeIMAP',
      EmailAddress: 'ada@example.com',
      IncomingMailServerHostName: 'imap.example.com',
      IncomingMailServerAuthentication: 'EmailAuthPassword',
      IncomingMailServerUseSSL: true,
      IncomingMailServerPortNumber: 993n,
      OutgoingMailServerHostName: 'smtp.example.com',
      OutgoingMailServerAuthentication: 'EmailAuthPassword',
      OutgoingPasswordSameAsIncomingPassword: true,
    },
  ],
  [
    'Exchange',
    'com.apple.eas.account',
    {
      Host: 'mail.example.com',
      EmailAddress: 'ada@example.com',
      SSL: true,
      MailNumberOfPastDaysToSync: 7n,
    },
  ],
  [
    'a web clip',
    'com.apple.webClip.managed',
    { URL: 'https://example.com', Label: 'Intranet', IsRemovable: false, FullScreen: true },
  ],
  [
    'energy saver',
    'com.apple.MCX',
    {
      'com.apple.EnergySaver.desktop.ACPower': dict({
        'Display Sleep Timer': 10n,
        'System Sleep Timer': 0n,
      }),
    },
  ],
  ['accounts', 'com.apple.MCX', { DisableGuestAccount: true, EnableGuestAccount: false }],
  [
    'FileVault',
    'com.apple.MCX.FileVault2',
    { Enable: 'On', Defer: true, UseRecoveryKey: true, ShowRecoveryKey: false },
  ],
  [
    'a screen saver without its module',
    'com.apple.screensaver',
    { askForPassword: true, askForPasswordDelay: 5n, loginWindowIdleTime: 1200n },
  ],
  [
    'the firewall',
    'com.apple.security.firewall',
    { EnableFirewall: true, EnableStealthMode: true, BlockAllIncoming: false },
  ],
  [
    'privacy by Authorization',
    'com.apple.TCC.configuration-profile-policy',
    {
      Services: dict({
        SystemPolicyAllFiles: [
          dict({
            Identifier: 'com.example.agent',
            IdentifierType: 'bundleID',
            CodeRequirement: 'identifier "com.example.agent"',
            Authorization: 'Allow',
          }),
        ],
      }),
    },
  ],
  [
    'kernel extensions',
    'com.apple.syspolicy.kernel-extension-policy',
    {
      AllowUserOverrides: false,
      AllowedTeamIdentifiers: ['ABCDE12345'],
      AllowedKernelExtensions: dict({ ABCDE12345: ['com.example.kext'] }),
    },
  ],
  [
    'system extensions',
    'com.apple.system-extension-policy',
    { AllowedSystemExtensions: dict({ ABCDE12345: ['com.example.filter'] }) },
  ],
  [
    'managed preferences',
    'com.apple.ManagedClient.preferences',
    {
      PayloadContent: dict({
        'com.example.app': dict({
          Forced: [dict({ mcx_preference_settings: dict({ Level: 0.5, Count: 3n }) })],
        }),
      }),
    },
  ],
  [
    'Kerberos sign-on',
    'com.apple.extensiblesso',
    {
      ExtensionIdentifier: 'com.apple.AppSSOKerberos.KerberosExtension',
      TeamIdentifier: 'apple',
      Type: 'Credential',
      Realm: 'EXAMPLE.COM',
      Hosts: ['.example.com'],
      ExtensionData: dict({ useSiteAutoDiscovery: true }),
    },
  ],
  [
    'sign-on of another maker',
    'com.apple.extensiblesso',
    {
      ExtensionIdentifier: 'com.example.sso',
      TeamIdentifier: 'ABCDE12345',
      Type: 'Redirect',
      URLs: ['https://login.example.com'],
      ExtensionData: dict({ anything: 1n }),
    },
  ],
  [
    'notifications',
    'com.apple.notificationsettings',
    {
      NotificationSettings: [
        dict({ BundleIdentifier: 'com.example.app', AlertType: 1n, NotificationsEnabled: true }),
      ],
    },
  ],
  ['the dock', 'com.apple.dock', { autohide: true, orientation: 'left', tilesize: 48n }],
  [
    'DNS over HTTPS',
    'com.apple.dnsSettings.managed',
    { DNSSettings: dict({ DNSProtocol: 'HTTPS', ServerURL: 'https://dns.example.com/query' }) },
  ],
  [
    'a software update policy',
    'com.apple.SoftwareUpdate',
    { AutomaticCheckEnabled: true, AutomaticDownload: true },
  ],
  ['a password to remove it by', 'com.apple.profileRemovalPassword', { RemovalPassword: 'x' }],
];
