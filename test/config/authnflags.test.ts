// What the flags of authentication and TLS mean, and which of them contradict each other.
import t from "tap";
import { readAuthn, readTls } from "../../src/config/authnflags.ts";
import { nodeFrontFlag, readConfig } from "../../src/config/config.ts";
import type { FlagValues } from "../../src/config/flag.ts";
import { isFlagFault, parseFlags } from "../../src/config/flags.ts";

function valuesOf(...args: string[]): FlagValues {
  const values = parseFlags(args);
  if (isFlagFault(values)) throw new Error(values.fault);
  return values;
}

t.test("readAuthn() has upstream's defaults", (t) => {
  t.strictSame(readAuthn(valuesOf()), {
    anonymous: true,
    clientCaFile: "",
    requestHeader: undefined,
    oidc: undefined,
    tokenWebhook: undefined,
    bootstrapTokens: false,
    audiences: [],
    accounts: {
      keyFiles: [],
      signingKeyFile: "",
      privateKeyFile: "",
      issuers: [],
      keySetUrl: "",
      lookup: true,
      lifetimeSecondsMax: 0,
      extends: true,
    },
  });
  t.match(readAuthn(valuesOf("--authorization-mode=AlwaysAllow")), { anonymous: false });
  t.match(readAuthn(valuesOf("--authorization-mode=RBAC,AlwaysAllow")), { anonymous: false });
  t.match(readAuthn(valuesOf("--anonymous-auth=false")), { anonymous: false });
  t.end();
});

t.test("readAuthn() takes lists that are repeated or joined", (t) => {
  const args = ["--service-account-key-file=a", "--service-account-key-file=b,c", "--api-audiences=x,y"];
  t.match(readAuthn(valuesOf(...args, "--service-account-issuer=https://a", "--service-account-issuer=b")), {
    audiences: ["x", "y"],
    accounts: { keyFiles: ["a", "b", "c"], issuers: ["https://a", "b"] },
  });
  const oidc = ["--oidc-issuer-url=https://idp", "--oidc-client-id=cli"];
  t.match(readAuthn(valuesOf(...oidc, "--oidc-required-claim=a=b=c", "--oidc-required-claim=d=")), {
    oidc: {
      usernamePrefix: "https://idp#",
      algorithms: ["RS256"],
      requiredClaims: new Map([
        ["a", "b=c"],
        ["d", ""],
      ]),
    },
  });
  t.match(readAuthn(valuesOf(...oidc, "--oidc-username-prefix=-")), { oidc: { usernamePrefix: "" } });
  t.match(readAuthn(valuesOf(...oidc, "--oidc-username-claim=email")), { oidc: { usernamePrefix: "" } });
  t.end();
});

t.test("readAuthn() refuses what cannot be", (t) => {
  const oidc = ["--oidc-issuer-url=https://idp", "--oidc-client-id=cli"];
  const cases: [string[], RegExp][] = [
    [["--requestheader-client-ca-file=a"], /needs --requestheader-username-headers$/],
    [["--requestheader-username-headers=a"], /needs --requestheader-client-ca-file$/],
    [["--requestheader-client-ca-file=a", "--requestheader-username-headers=a b"], /is no header name$/],
    [["--service-account-issuer=:x"], /contained a ':' but is not a valid URL$/],
    [["--service-account-max-token-expiration=59m"], /must be 0 or at least 1h$/],
    [["--oidc-issuer-url=https://idp"], /belong together$/],
    [["--oidc-client-id=cli"], /belong together$/],
    [["--oidc-issuer-url=http://idp", "--oidc-client-id=cli"], /must begin with https/],
    [[...oidc, "--oidc-signing-algs=HS256"], /unsupported signing alg: "HS256"$/],
    [[...oidc, "--oidc-signing-algs=RS256,none"], /unsupported signing alg: "none"$/],
    [[...oidc, "--oidc-required-claim=a"], /must be claim=value: "a"$/],
    [[...oidc, "--oidc-username-claim="], /must not be empty$/],
  ];
  for (const [args, expected] of cases) t.match(readAuthn(valuesOf(...args)), expected, args.join(" "));
  t.end();
});

t.test("readTls() reads versions, suites and named certificates", (t) => {
  t.strictSame(readTls(valuesOf()), { minVersion: "TLSv1.2", ciphers: "", named: [] });
  const suites = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384";
  t.match(readTls(valuesOf("--tls-min-version=VersionTLS13", `--tls-cipher-suites=${suites}`)), {
    minVersion: "TLSv1.3",
    ciphers: "ECDHE-RSA-AES128-GCM-SHA256:TLS_AES_256_GCM_SHA384",
  });
  t.match(readTls(valuesOf("--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA")), /there is no "TLS_RSA_WITH_RC4_128_SHA"$/);
  t.ok(isFlagFault(parseFlags(["--tls-min-version=VersionTLS10"])));
  const named = ["--tls-sni-cert-key=/a.crt,/a.key", "--tls-sni-cert-key=/b.crt,/b.key:b.io,*.b.io"];
  t.match(readTls(valuesOf(...named, "--tls-sni-cert-key=/c.crt,/c.key:c.io")), {
    named: [
      { certFile: "/a.crt", keyFile: "/a.key", names: [] },
      { certFile: "/b.crt", keyFile: "/b.key", names: ["b.io", "*.b.io"] },
      { certFile: "/c.crt", keyFile: "/c.key", names: ["c.io"] },
    ],
  });
  t.type(readTls(valuesOf("--tls-sni-cert-key=/a.crt")), "string");
  t.end();
});

t.test("nodeFrontFlag() names the flag that needs the node front", (t) => {
  const flagOf = (...args: string[]): string | undefined => {
    const config = readConfig(valuesOf(...args));
    return typeof config === "string" ? config : nodeFrontFlag(config);
  };
  t.equal(flagOf(), undefined);
  t.equal(flagOf("--token-auth-file=x", "--oidc-issuer-url=https://x", "--oidc-client-id=y"), undefined);
  t.equal(flagOf("--client-ca-file=x"), undefined);
  const minimum = "--tls-min-version=VersionTLS13";
  t.equal(flagOf(minimum, "--fanout-port=1"), "--tls-min-version", "which makes room for a fan-out port");
  t.equal(flagOf("--tls-min-version=VersionTLS13"), "--tls-min-version");
  t.equal(flagOf("--tls-sni-cert-key=a,b"), "--tls-sni-cert-key");
  t.end();
});
