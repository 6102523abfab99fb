#!/usr/bin/perl
# A frontend of the Vexide Simulator Protocol that connects to a port on this machine.
# Usage: vexide_frontend.pl PORT [SWITCH[,SWITCH…]]
use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP;
use MIME::Base64;

my ($port, $switches) = (@ARGV, '');
my %on = map { $_ => 1 } split /,/, $switches;
my $json = JSON::PP->new->utf8->allow_nonref;
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
my $socket = IO::Socket::INET->new(PeerHost => '127.0.0.1', PeerPort => $port) or die "connect: $!";
$socket->autoflush(1);
binmode STDERR, ':utf8';
$SIG{PIPE} = 'IGNORE';
my ($shaken, $started, $buffer) = (0, 0, '');

sub command { print $socket $json->encode(shift) . "\n" }

sub setup {
  my $gears = { physical_gearset => 'Green', moment_of_inertia => 1.5 };
  command({ ConfigureDevice => { port => { Smart => 1 }, device => { Motor => $gears } } });
  command({ CompetitionMode => {
    enabled => $on{'text-for-bool'} ? 'true' : $true, connected => $false,
    mode => $on{'long-mode'} ? 'Autonomous' : 'Auto', is_competition => $false } });
  command({ SetBatteryCapacity => { capacity => 14.0 } });
}

sub motor {
  my $state = shift;
  my $goal = $state->{target_position};
  die 'no target' if $on{'die-target'} and !defined $goal;
}

my %effects = (
  Handshake => sub { setup() unless $shaken++ },
  Ready => sub { command('StartExecution') unless $started++ },
  Exited => sub { exit 0 },
  Serial => sub { print STDERR decode_base64($_[0]{data} // '') },
  Log => sub {
    my ($level, $text) = @{$_[0]}{qw(level message)};
    die "level $level" if $on{'die-trace'} and $level eq 'Trace';
    exit 1 if $on{'exit-error'} and $level eq 'Error';
    print STDERR "log: $text\n";
  },
  VCodeSig => sub { die 'signature' if $on{'die-signature'} },
  RobotPose => sub { die 'pose' if $on{'die-pose'} },
  DeviceUpdate => sub {
    my $status = $_[0]{status};
    motor($status->{Motor}) if ref $status eq 'HASH' and $status->{Motor};
  },
);

sub event {
  my $event = eval { $json->decode(shift) };
  my ($name, $fields) = ref $event eq 'HASH' ? %$event : ($event // '', undef);
  my $effect = $effects{$name} or return;
  # Content of the wrong type changes nothing.
  return if $name =~ /^(Serial|Log|DeviceUpdate|RobotPose)$/ and ref $fields ne 'HASH';
  $effect->($fields);
}

command({ Handshake => { version => $on{'version-two'} ? 2 : 1, extensions => [] } });
command('StartExecution') if $on{'early-start'};
while (sysread $socket, my $piece, 65536) {
  if ($on{'close-cut'} and $piece !~ /\n\z/) { close $socket; sleep 60 }
  $buffer .= $piece;
  event($1) while $buffer =~ s/^([^\n]*)\n//;
}
