// Names of Windows users: `DOMAIN\user` or `user`, as Windows itself restricts them.

const domainLengthMax = 256;
const userLengthMax = 104;
const field = "runAsUserName";

/** What is wrong with the name of a Windows user. */
export function windowsUserFaults(name: string): string[] {
  if (name === "") return [`${field} cannot be an empty string`];
  if (/[\u0000-\u001f\u007f]/.test(name)) return [`${field} cannot contain control characters`];
  const parts = name.split("\\");
  if (parts.length > 2) return [`${field} cannot contain more than one backslash`];
  const user = parts[parts.length - 1] ?? "";
  const domain = parts.length === 2 ? (parts[0] ?? "") : undefined;
  return [...domainFaults(domain), ...userFaults(user)];
}

function domainFaults(domain: string | undefined): string[] {
  if (domain === undefined) return [];
  const faults: string[] = [];
  if (domain.length >= domainLengthMax)
    faults.push(`${field}'s Domain length must be under ${domainLengthMax} characters`);
  if (!isNetBios(domain) && !isDnsName(domain)) {
    faults.push(`${field}'s Domain doesn't match the NetBios nor the DNS format`);
  }
  return faults;
}

/** One to fifteen characters, none of them special, the first not a dot. */
function isNetBios(domain: string): boolean {
  return domain.length >= 1 && domain.length <= 15 && !domain.startsWith(".") && !/[\\/:*?"<>|]/.test(domain);
}

function isDnsName(domain: string): boolean {
  return domain.split(".").every((label) => {
    return label.length <= 63 && /^[a-zA-Z0-9-]+$/.test(label) && !label.startsWith("-") && !label.endsWith("-");
  });
}

function userFaults(user: string): string[] {
  const faults: string[] = [];
  if (user === "") faults.push(`${field}'s User cannot be empty`);
  else if (Buffer.byteLength(user) > userLengthMax) {
    faults.push(`${field}'s User length must not be longer than ${userLengthMax} characters`);
  }
  if (/^[. ]+$/.test(user)) faults.push(`${field}'s User cannot contain only periods or spaces`);
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    faults.push(`${field}'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  }
  return faults;
}
