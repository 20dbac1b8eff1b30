# Installs a Homebrew formula from its archive, with as much of Homebrew's language as the formula uses.
#
#   ruby homebrew.rb FORMULA ARCHIVE SOURCE PREFIX
#
# ARCHIVE is the file that the formula downloads on 64-bit Intel Linux, SOURCE its content without the
# outermost directory, in which Homebrew runs the install method.
require "digest"
require "fileutils"

FORMULA, ARCHIVE, SOURCE, PREFIX = ARGV

# Place is a directory of an installation.
class Place
  def initialize(dir)
    @dir = File.join(PREFIX, dir)
  end

  def install(*files)
    FileUtils.mkdir_p(@dir)
    raise "nothing to install in #{@dir}" if files.flatten.empty?
    files.flatten.each do |file|
      names = file.is_a?(Hash) ? file : { file => File.basename(file) }
      names.each { |from, to| FileUtils.cp(from, File.join(@dir, to)) }
    end
  end

  def to_s
    @dir
  end
end

# Formula is the class of all formulae.
class Formula
  class << self
    attr_reader :wanted
    %i[desc homepage license].each { |word| define_method(word) { |text| raise "#{word} is empty" if text.empty? } }

    def version(text = nil)
      text ? @version = text : @version
    end

    def on_linux
      yield
    end

    def on_macos; end

    def on_intel
      yield
    end

    def on_arm; end

    def url(text)
      raise "#{text} is not #{File.basename(ARCHIVE)}" unless File.basename(text) == File.basename(ARCHIVE)
    end

    def sha256(text)
      @wanted = text
    end

    def test(&block)
      define_method(:check, &block)
    end
  end

  { bin: "bin", man1: "share/man/man1", bash_completion: "etc/bash_completion.d",
    zsh_completion: "share/zsh/site-functions",
    fish_completion: "share/fish/vendor_completions.d" }.each do |name, dir|
    define_method(name) { Place.new(dir) }
  end

  def version
    self.class.version
  end

  def shell_output(command)
    out = `#{command}`
    raise "#{command}: #{$?}" unless $?.success?
    out
  end

  def assert_match(text, output)
    raise "#{output} has no #{text}" unless output.include?(text)
  end
end

load FORMULA
sum = Digest::SHA256.file(ARCHIVE).hexdigest
raise "the checksum of #{ARCHIVE} is #{sum}, not #{Snowgrid.wanted}" unless sum == Snowgrid.wanted
Dir.chdir(SOURCE) { Snowgrid.new.install }
Snowgrid.new.check
